"""Public names of the family: variables."""

NAMES: dict[str, str] = {
    "headrace.variables.variable": "Variable",
    "headrace.variables.creators": "variable_creator_scope",
    "headrace.variables.modes": "VariableSynchronization VariableAggregation",
    "headrace.variables.creation": (
        "enable_resource_variables disable_resource_variables resource_variables_enabled"
    ),
    "headrace.variables.listing": (
        "global_variables all_variables local_variables model_variables trainable_variables "
        "moving_average_variables variables_initializer "
        "initializers.variables=variables_initializer "
        "global_variables_initializer initializers.global_variables=global_variables_initializer "
        "local_variables_initializer initializers.local_variables=local_variables_initializer "
        "initialize_variables initialize_all_variables initialize_local_variables "
        "is_variable_initialized assert_variables_initialized report_uninitialized_variables"
    ),
    "headrace.variables.functions.module": "Module",
    "headrace.variables.store": "AUTO_REUSE",
    "headrace.variables.scope_defaults": "no_regularizer",
    "headrace.variables.scope": (
        "VariableScope get_variable get_local_variable get_variable_scope variable_scope variable_op_scope"
    ),
    "headrace.variables.functions.template": "make_template",
    "headrace.variables.partitioners": (
        "fixed_size_partitioner variable_axis_size_partitioner min_max_variable_partitioner "
        "create_partitioned_variables"
    ),
    "headrace.variables.update": (
        "assign assign_add assign_sub count_up_to scatter_update scatter_add scatter_sub "
        "scatter_mul scatter_div scatter_max scatter_min scatter_nd_update scatter_nd_add "
        "scatter_nd_sub batch_scatter_update"
    ),
    "headrace.variables.initializers.initializers": (
        "zeros_initializer=Zeros initializers.zeros=Zeros ones_initializer=Ones "
        "initializers.ones=Ones constant_initializer=Constant initializers.constant=Constant "
        "random_uniform_initializer=RandomUniform initializers.random_uniform=RandomUniform "
        "random_normal_initializer=RandomNormal initializers.random_normal=RandomNormal "
        "truncated_normal_initializer=TruncatedNormal "
        "initializers.truncated_normal=TruncatedNormal "
        "uniform_unit_scaling_initializer=UniformUnitScaling "
        "initializers.uniform_unit_scaling=UniformUnitScaling "
        "variance_scaling_initializer=VarianceScaling "
        "initializers.variance_scaling=VarianceScaling "
        "glorot_uniform_initializer=GlorotUniform initializers.glorot_uniform=GlorotUniform "
        "glorot_normal_initializer=GlorotNormal initializers.glorot_normal=GlorotNormal "
        "initializers.identity=Identity initializers.lecun_normal initializers.lecun_uniform "
        "initializers.he_normal initializers.he_uniform"
    ),
    "headrace.nn.embedding": (
        "nn.embedding_lookup nn.embedding_lookup_sparse nn.safe_embedding_lookup_sparse"
    ),
    "headrace.nn.sampled_loss": "nn.nce_loss nn.sampled_softmax_loss",
    "headrace.variables.initializers.orthogonal": (
        "orthogonal_initializer=Orthogonal initializers.orthogonal=Orthogonal"
    ),
}
