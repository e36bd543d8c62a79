"""The functions that Keras is written in, at one place: layers, losses and backend take them from here."""

from __future__ import annotations

from headrace.autodiff.gradients import gradients as gradients
from headrace.core import dtypes as dtypes
from headrace.core.dtypes import as_dtype as as_dtype
from headrace.core.errors import InvalidArgumentError as InvalidArgumentError
from headrace.core.log import warning as _log_warning
from headrace.core.modules import late as late
from headrace.core.shapes import Shape as _TensorShape
from headrace.core.shapes import as_shape as as_shape
from headrace.functions.array.array import expand_dims as expand_dims
from headrace.functions.array.array import fill as fill
from headrace.functions.array.array import get_static_value as get_static_value
from headrace.functions.array.array import identity as identity
from headrace.functions.array.array import ones as ones
from headrace.functions.array.array import ones_like as ones_like
from headrace.functions.array.array import placeholder as placeholder
from headrace.functions.array.array import placeholder_with_default as placeholder_with_default
from headrace.functions.array.array import rank as rank
from headrace.functions.array.array import reshape as reshape
from headrace.functions.array.array import shape as shape
from headrace.functions.array.array import size as size
from headrace.functions.array.array import squeeze as squeeze
from headrace.functions.array.array import transpose as transpose
from headrace.functions.array.array import zeros as zeros
from headrace.functions.array.array import zeros_like as zeros_like
from headrace.functions.array.checks import assert_equal as assert_equal
from headrace.functions.array.einsum import einsum as einsum
from headrace.functions.array.indexing import boolean_mask as boolean_mask
from headrace.functions.array.indexing import gather as gather
from headrace.functions.array.indexing import gather_nd as gather_nd
from headrace.functions.array.indexing import one_hot as one_hot
from headrace.functions.array.indexing import sequence_mask as sequence_mask
from headrace.functions.array.indexing import where as where
from headrace.functions.array.slice import slice_ as _slice
from headrace.functions.array.slice import strided_slice as strided_slice
from headrace.functions.array.sort import argsort as argsort
from headrace.functions.array.sort import edit_distance as edit_distance
from headrace.functions.array.sort import searchsorted as searchsorted
from headrace.functions.array.sort import top_k as top_k
from headrace.functions.array.sort import unique as unique
from headrace.functions.array.space import batch_to_space as batch_to_space
from headrace.functions.array.space import space_to_batch as space_to_batch
from headrace.functions.array.stacking import concat as concat
from headrace.functions.array.stacking import split as split
from headrace.functions.array.stacking import stack as stack
from headrace.functions.array.stacking import unstack as unstack
from headrace.functions.array.tensordot import tensordot as tensordot
from headrace.functions.array.tiling import pad as pad
from headrace.functions.array.tiling import repeat as repeat
from headrace.functions.control.case import case as case
from headrace.functions.control.cond import cond as cond
from headrace.functions.control.cond import smart_cond as smart_cond
from headrace.functions.control.cond import smart_constant_value as smart_constant_value
from headrace.functions.control.functional import foldl as foldl
from headrace.functions.control.functional import foldr as foldr
from headrace.functions.control.functional import scan as scan
from headrace.functions.control.grouping import group as group
from headrace.functions.control.grouping import tuple_ as _tuple
from headrace.functions.control.init_scope import init_scope as init_scope
from headrace.functions.control.map_fn import map_fn as map_fn
from headrace.functions.control.script import py_func as py_func
from headrace.functions.control.tensor_array import TensorArray as TensorArray
from headrace.functions.control.while_loop import while_loop as while_loop
from headrace.functions.image.resize import resize_bilinear as resize_bilinear
from headrace.functions.image.resize import resize_images as resize_images
from headrace.functions.image.resize import resize_nearest_neighbor as resize_nearest_neighbor
from headrace.functions.linalg.linalg import eye as eye
from headrace.functions.linalg.linalg import matmul as matmul
from headrace.functions.math.cast import cast as cast
from headrace.functions.math.clip import clip_by_global_norm as clip_by_global_norm
from headrace.functions.math.clip import clip_by_norm as clip_by_norm
from headrace.functions.math.clip import clip_by_value as clip_by_value
from headrace.functions.math.elementwise import abs_ as _abs
from headrace.functions.math.elementwise import negative as negative
from headrace.functions.math.elementwise import sign as sign
from headrace.functions.math.elementwise import sqrt as sqrt
from headrace.functions.math.elementwise import square as square
from headrace.functions.math.elementwise import tanh as tanh
from headrace.functions.math.math import div_no_nan as div_no_nan
from headrace.functions.math.math import equal as equal
from headrace.functions.math.math import floordiv as floordiv
from headrace.functions.math.math import not_equal as not_equal
from headrace.functions.math.math import pow_ as _pow
from headrace.functions.math.math import range_ as _range
from headrace.functions.math.math import real as real
from headrace.functions.math.math import round_ as _round
from headrace.functions.math.math import sigmoid as sigmoid
from headrace.functions.math.math import truediv as truediv
from headrace.functions.math.norm import l2_normalize as l2_normalize
from headrace.functions.math.norm import norm as norm
from headrace.functions.math.reduce import argmax as argmax
from headrace.functions.math.reduce import argmin as argmin
from headrace.functions.math.reduce import reduce_all as reduce_all
from headrace.functions.math.reduce import reduce_any as reduce_any
from headrace.functions.math.reduce import reduce_logsumexp as reduce_logsumexp
from headrace.functions.math.reduce import reduce_max as reduce_max
from headrace.functions.math.reduce import reduce_mean as reduce_mean
from headrace.functions.math.reduce import reduce_min as reduce_min
from headrace.functions.math.reduce import reduce_prod as reduce_prod
from headrace.functions.math.reduce import reduce_sum as reduce_sum
from headrace.functions.math.sums import add_n as add_n
from headrace.functions.math.sums import cumprod as cumprod
from headrace.functions.math.sums import cumsum as cumsum
from headrace.functions.nn.activation import bias_add as bias_add
from headrace.functions.nn.activation import dropout as dropout
from headrace.functions.nn.activation import leaky_relu as leaky_relu
from headrace.functions.nn.activation import relu6 as relu6
from headrace.functions.nn.atrous import convolution as convolution
from headrace.functions.nn.atrous import depthwise_conv2d as depthwise_conv2d
from headrace.functions.nn.atrous import separable_conv2d as separable_conv2d
from headrace.functions.nn.conv import conv1d as conv1d
from headrace.functions.nn.ctc import ctc_beam_search_decoder as ctc_beam_search_decoder
from headrace.functions.nn.ctc import ctc_greedy_decoder as ctc_greedy_decoder
from headrace.functions.nn.ctc import ctc_loss as ctc_loss
from headrace.functions.nn.loss import in_top_k as in_top_k
from headrace.functions.nn.loss import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from headrace.functions.nn.norm import batch_normalization as batch_normalization
from headrace.functions.nn.norm import fused_batch_norm as fused_batch_norm
from headrace.functions.nn.norm import moments as moments
from headrace.functions.nn.norm import weighted_moments as weighted_moments
from headrace.functions.nn.pool import avg_pool as avg_pool
from headrace.functions.nn.pool import max_pool as max_pool
from headrace.functions.nn.pool import pool as pool
from headrace.functions.nn.softmax import log_softmax as log_softmax
from headrace.functions.nn.softmax import softmax as softmax
from headrace.functions.nn.softmax import (
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
)
from headrace.functions.nn.softmax import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from headrace.functions.nn.transpose import conv2d_transpose as conv2d_transpose
from headrace.functions.nn.transpose import conv3d_transpose as conv3d_transpose
from headrace.functions.platform.modes import executing_eagerly as executing_eagerly
from headrace.functions.platform.scopes import control_dependencies as control_dependencies
from headrace.functions.platform.scopes import name_scope as name_scope
from headrace.functions.ragged.constant import placeholder as _ragged_placeholder
from headrace.functions.ragged.tensor import RaggedTensor as RaggedTensor
from headrace.functions.random.random import multinomial as multinomial
from headrace.functions.random.random import random_normal as random_normal
from headrace.functions.random.random import random_uniform as random_uniform
from headrace.functions.random.random import truncated_normal as truncated_normal
from headrace.functions.sparse.math import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from headrace.functions.sparse.parts import sparse_concat as sparse_concat
from headrace.functions.sparse.sparse import sparse_placeholder as sparse_placeholder
from headrace.functions.sparse.sparse import sparse_tensor_to_dense as sparse_tensor_to_dense
from headrace.functions.sparse.tensor import SparseTensor as SparseTensor
from headrace.functions.sparse.tensor import SparseTensorValue as SparseTensorValue
from headrace.functions.strings.print import Print as Print
from headrace.functions.strings.print import print_ as _print
from headrace.functions.values import nest as nest
from headrace.functions.values.conversion import convert_to_tensor as convert_to_tensor
from headrace.functions.values.tensor_spec import TensorSpec as TensorSpec
from headrace.graph.defaults import get_default_graph as get_default_graph
from headrace.graph.graph import Graph as Graph
from headrace.graph.node import Node as _Operation
from headrace.graph.tensor import Tensor as Tensor
from headrace.nn.embedding import embedding_lookup as embedding_lookup
from headrace.ops.array.constant import constant as constant
from headrace.ops.array.reverse import reverse_v2 as _reverse
from headrace.ops.array.source import identity_n as identity_n
from headrace.ops.array.source import no_op as no_op
from headrace.ops.array.source import stop_gradient as stop_gradient
from headrace.ops.array.tile import broadcast_to as broadcast_to
from headrace.ops.array.tile import tile as tile
from headrace.ops.declaration.indexed_slices import IndexedSlices as IndexedSlices
from headrace.ops.math.arithmetic import add as add
from headrace.ops.math.arithmetic import ceil as ceil
from headrace.ops.math.arithmetic import exp as exp
from headrace.ops.math.arithmetic import floor as floor
from headrace.ops.math.arithmetic import floor_mod as _mod
from headrace.ops.math.arithmetic import log as log
from headrace.ops.math.arithmetic import log1p as log1p
from headrace.ops.math.arithmetic import maximum as maximum
from headrace.ops.math.arithmetic import minimum as minimum
from headrace.ops.math.arithmetic import mul as _multiply
from headrace.ops.math.arithmetic import rsqrt as rsqrt
from headrace.ops.math.arithmetic import squared_difference as squared_difference
from headrace.ops.math.arithmetic import sub as _subtract
from headrace.ops.math.comparison import greater as greater
from headrace.ops.math.comparison import greater_equal as greater_equal
from headrace.ops.math.comparison import is_finite as is_finite
from headrace.ops.math.comparison import is_nan as is_nan
from headrace.ops.math.comparison import less as less
from headrace.ops.math.comparison import less_equal as less_equal
from headrace.ops.math.logical import logical_and as logical_and
from headrace.ops.math.logical import logical_not as logical_not
from headrace.ops.math.logical import logical_or as logical_or
from headrace.ops.math.sequence import lin_space as _linspace
from headrace.ops.math.trigonometry import acos as acos
from headrace.ops.math.trigonometry import atan as atan
from headrace.ops.math.trigonometry import cos as cos
from headrace.ops.math.trigonometry import sin as sin
from headrace.ops.math.trigonometry import tan as tan
from headrace.ops.nn.activation import elu as elu
from headrace.ops.nn.activation import relu as relu
from headrace.ops.nn.activation import selu as selu
from headrace.ops.nn.activation import softplus as softplus
from headrace.ops.nn.activation import softsign as softsign
from headrace.variables.functions.custom_gradient import custom_gradient as custom_gradient
from headrace.variables.listing import global_variables as global_variables
from headrace.variables.listing import is_variable_initialized as is_variable_initialized
from headrace.variables.listing import variables_initializer as variables_initializer
from headrace.variables.update import assign as assign
from headrace.variables.update import assign_add as assign_add
from headrace.variables.update import assign_sub as assign_sub
from headrace.variables.update import scatter_update as scatter_update
from headrace.variables.variable import Variable as Variable

# Where TF's name is a word of Python, or ours is another.
Operation = _Operation
TensorShape = _TensorShape
abs = _abs
linspace = _linspace
log_warning = _log_warning
mod = _mod
multiply = _multiply
pow = _pow
print = _print
ragged_placeholder = _ragged_placeholder
range = _range
reverse = _reverse
round = _round
slice = _slice
subtract = _subtract
tuple = _tuple
