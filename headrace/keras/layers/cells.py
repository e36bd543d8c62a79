"""Cells of recurrent layers: simple, GRU, LSTM."""

from __future__ import annotations

from typing import Any

from headrace.keras.layers.noise import in_training
from headrace.keras.layers.stacked_cells import zero_states
from headrace.layers import ops
from headrace.layers.functions import activations, initializers
from headrace.layers.keras.roles import RoleLayer


class _Cell(RoleLayer):
    """What they share: kernels for inputs and for states, a bias, dropout of both.

    Args:
      units: size of the state.
      activation: function of the new state.
      use_bias: add a bias?
      kernel_initializer, recurrent_initializer, bias_initializer: initializers, or their names.
      kernel_regularizer, recurrent_regularizer, bias_regularizer: functions from a variable to a loss.
      kernel_constraint, recurrent_constraint, bias_constraint: applied to new values.
      dropout, recurrent_dropout: how likely elements of inputs and states are dropped.
      **kwargs: as of Layer.
    """

    _gates = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self._set_roles(
            kernel=(kernel_initializer, kernel_regularizer, kernel_constraint),
            recurrent=(recurrent_initializer, recurrent_regularizer, recurrent_constraint),
            bias=(bias_initializer, bias_regularizer, bias_constraint),
        )
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self.state_size: Any = units
        self.output_size = units
        self._masks: dict[str, Any] = {}

    def build(self, input_shape: Any) -> None:
        size = ops.as_shape(input_shape).as_list()[-1]
        width = self.units * self._gates
        self.kernel = self._role_weight("kernel", (size, width))
        self.recurrent_kernel = self._role_weight("recurrent", (self.units, width), "recurrent_kernel")
        self.bias = self._bias_weight(width) if self.use_bias else None
        self.built = True

    def _bias_weight(self, width: int) -> Any:
        return self._role_weight("bias", (width,))

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """States of zeros."""
        if inputs is not None:
            batch_size, dtype = ops.shape(inputs)[0], inputs.dtype
        return zero_states(batch_size, self.state_size, dtype)

    # -- dropout: one mask per run, the same at all time steps ------------------------------------
    def _mask(self, kind: str, x: Any, rate: Any, training: Any) -> list[Any]:
        if kind not in self._masks:
            ones = ops.ones_like(x)
            draw = lambda: ops.dropout(ones, rate=rate)
            self._masks[kind] = [in_training(training, draw, ones) for _ in range(self._gates)]
        found: list[Any] = self._masks[kind]
        return found

    def reset_dropout_mask(self) -> None:
        """Draw anew for inputs."""
        self._masks.pop("inputs", None)

    def reset_recurrent_dropout_mask(self) -> None:
        """Draw anew for states."""
        self._masks.pop("states", None)

    def _dropped(self, kind: str, x: Any, rate: float, training: Any) -> list[Any]:
        """`x` for each gate."""
        if not rate:
            return [x] * self._gates
        return [x * mask for mask in self._mask(kind, x, rate, training)]

    def _product(self, parts: list[Any], kernel: Any) -> Any:
        """Inputs or states of each gate times the gate's part of a kernel, side by side."""
        if all(part is parts[0] for part in parts):
            return ops.matmul(parts[0], kernel)
        cut = ops.split(kernel, self._gates, axis=1)
        return ops.concat([ops.matmul(part, own) for part, own in zip(parts, cut)], axis=1)

    def _kept_config(self) -> tuple[str, ...]:
        return ("units", "use_bias", "dropout", "recurrent_dropout")

    def get_config(self) -> dict[str, Any]:
        config = self._config(*self._kept_config())
        config.pop("activity_regularizer", None)
        for key in ("recurrent_activation",):
            if hasattr(self, key):
                config[key] = activations.serialize(getattr(self, key))
        return config


class SimpleRNNCell(_Cell):
    """activation(inputs · kernel + state · recurrent kernel + bias)."""

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:  # type: ignore[override]
        (x,) = self._dropped("inputs", inputs, self.dropout, training)
        (h,) = self._dropped("states", states[0], self.recurrent_dropout, training)
        found = ops.matmul(x, self.kernel)
        if self.bias is not None:
            found = ops.bias_add(found, self.bias)
        output = self.activation(found + ops.matmul(h, self.recurrent_kernel))
        return output, [output]


class _GatedCell(_Cell):
    """A cell with gates.

    Args:
      units: size of the state.
      activation: function of the new state.
      recurrent_activation: function of the gates.
      *args, **kwargs: as of the other cells.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        *args: Any,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, *args, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.implementation = implementation

    def _kept_config(self) -> tuple[str, ...]:
        return (*super()._kept_config(), "implementation")


class GRUCell(_GatedCell):
    """Gated recurrent unit (Cho and others 2014).  `reset_after`: reset the state behind the product, as
    cuDNN."""

    _gates = 3

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        *args: Any,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, *args, **kwargs)
        self.reset_after = reset_after

    def _bias_weight(self, width: int) -> Any:
        return self._role_weight("bias", (2, width) if self.reset_after else (width,))

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:  # type: ignore[override]
        h = states[0]
        x = self._product(self._dropped("inputs", inputs, self.dropout, training), self.kernel)
        bias = recurrent_bias = None
        if self.bias is not None:
            bias, recurrent_bias = ops.unstack(self.bias) if self.reset_after else (self.bias, None)
            x = ops.bias_add(x, bias)
        x_z, x_r, x_h = ops.split(x, 3, axis=1)
        parts = self._dropped("states", h, self.recurrent_dropout, training)
        units = self.units
        if self.reset_after:
            inner = self._product(parts, self.recurrent_kernel)
            if recurrent_bias is not None:
                inner = ops.bias_add(inner, recurrent_bias)
            h_z, h_r, h_h = ops.split(inner, 3, axis=1)
            z = self.recurrent_activation(x_z + h_z)
            r = self.recurrent_activation(x_r + h_r)
            new = self.activation(x_h + r * h_h)
        else:
            kernel = self.recurrent_kernel
            z = self.recurrent_activation(x_z + ops.matmul(parts[0], kernel[:, :units]))
            r = self.recurrent_activation(x_r + ops.matmul(parts[1], kernel[:, units : 2 * units]))
            new = self.activation(x_h + ops.matmul(r * parts[2], kernel[:, 2 * units :]))
        output = z * h + (1 - z) * new
        return output, [output]

    def _kept_config(self) -> tuple[str, ...]:
        return (*super()._kept_config(), "reset_after")


class LSTMCell(_GatedCell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997).  `unit_forget_bias`: the bias of the forget
    gate begins with 1."""

    _gates = 4

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units,
            activation,
            recurrent_activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            *args,
            **kwargs,
        )
        self.unit_forget_bias = unit_forget_bias
        self.state_size = [units, units]

    def _bias_weight(self, width: int) -> Any:
        if not self.unit_forget_bias:
            return super()._bias_weight(width)
        given, units = self.bias_initializer, self.units

        def parts(shape: Any, dtype: Any = None, **_: Any) -> Any:
            ones = initializers.Ones()((units,), dtype=dtype)
            return ops.concat([given((units,), dtype=dtype), ones, given((units * 2,), dtype=dtype)], axis=0)

        return self.add_weight(
            "bias",
            shape=(width,),
            dtype=self.dtype,
            initializer=parts,
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
            trainable=True,
        )

    def _peep(self, gates: list[Any], c: Any) -> list[Any]:
        """What gates see of the cell: nothing here."""
        return gates

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:  # type: ignore[override]
        h, c = states
        found = self._product(self._dropped("inputs", inputs, self.dropout, training), self.kernel)
        parts = self._dropped("states", h, self.recurrent_dropout, training)
        found = found + self._product(parts, self.recurrent_kernel)
        if self.bias is not None:
            found = ops.bias_add(found, self.bias)
        i, f, new, o = self._peep(ops.split(found, 4, axis=1), c)
        c = self.recurrent_activation(f) * c + self.recurrent_activation(i) * self.activation(new)
        o = self._peep_out(o, c)
        h = self.recurrent_activation(o) * self.activation(c)
        return h, [h, c]

    def _peep_out(self, o: Any, c: Any) -> Any:
        return o

    def _kept_config(self) -> tuple[str, ...]:
        return (*super()._kept_config(), "unit_forget_bias")


class PeepholeLSTMCell(LSTMCell):
    """LSTM whose gates see the cell."""

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        for name in ("input", "forget", "output"):
            weight = self.add_weight(
                f"{name}_gate_peephole_weights",
                shape=(self.units,),
                dtype=self.dtype,
                initializer=self.kernel_initializer,
                trainable=True,
            )
            setattr(self, f"{name}_gate_peephole_weights", weight)

    def _peep(self, gates: list[Any], c: Any) -> list[Any]:
        i, f, new, o = gates
        return [i + self.input_gate_peephole_weights * c, f + self.forget_gate_peephole_weights * c, new, o]

    def _peep_out(self, o: Any, c: Any) -> Any:
        return o + self.output_gate_peephole_weights * c
