"""Public names of the family: training."""

NAMES: dict[str, str] = {
    "headrace.train.saver": "train.Saver",
    "headrace.train.checkpoint_files": (
        "train.latest_checkpoint train.get_checkpoint_state train.update_checkpoint_state "
        "train.generate_checkpoint_state_proto train.checkpoint_exists "
        "train.get_checkpoint_mtimes train.remove_checkpoint"
    ),
    "headrace.train.start_from_checkpoint": "train.init_from_checkpoint",
    "headrace.train.object_checkpoint": "train.Checkpoint",
    "headrace.train.checkpoint_manager": "train.CheckpointManager",
    "headrace.train.warm_starting": "train.warm_start train.VocabInfo",
    "headrace.train.checkpoint_reader": (
        "train.NewCheckpointReader train.load_checkpoint train.load_variable "
        "train.list_variables train.checkpoints_iterator"
    ),
    "headrace.train.input_producers": (
        "{io.,train.}match_filenames_once train.limit_epochs train.input_producer "
        "train.string_input_producer train.range_input_producer train.slice_input_producer"
    ),
    "headrace.train.batching": (
        "train.batch train.maybe_batch train.batch_join train.maybe_batch_join"
    ),
    "headrace.train.shuffled_batching": (
        "train.shuffle_batch train.maybe_shuffle_batch train.shuffle_batch_join "
        "train.maybe_shuffle_batch_join"
    ),
    "headrace.train.coordinator": "train.Coordinator train.LooperThread",
    "headrace.train.queue_runners": (
        "{train.,train.queue_runner.}QueueRunner {train.,train.queue_runner.}add_queue_runner "
        "{train.,train.queue_runner.}start_queue_runners"
    ),
    "headrace.train.step_count": (
        "train.global_step train.get_global_step train.create_global_step "
        "train.get_or_create_global_step train.assert_global_step"
    ),
    "headrace.train.moving_averages": "train.ExponentialMovingAverage",
    "headrace.train.learning_rate_decay": (
        "train.exponential_decay train.natural_exp_decay train.inverse_time_decay "
        "train.piecewise_constant train.piecewise_constant_decay=piecewise_constant "
        "train.polynomial_decay train.cosine_decay train.cosine_decay_restarts "
        "train.linear_cosine_decay train.noisy_linear_cosine_decay"
    ),
    "headrace.train.optimizers.base": "train.Optimizer",
    "headrace.train.optimizers.gradient_descent": (
        "train.GradientDescentOptimizer train.ProximalGradientDescentOptimizer"
    ),
    "headrace.train.optimizers.momentum": "train.MomentumOptimizer train.RMSPropOptimizer",
    "headrace.train.optimizers.adam": "train.AdamOptimizer train.AdadeltaOptimizer",
    "headrace.train.optimizers.adagrad": (
        "train.AdagradOptimizer train.AdagradDAOptimizer train.ProximalAdagradOptimizer"
    ),
    "headrace.train.optimizers.ftrl": "train.FtrlOptimizer",
}
