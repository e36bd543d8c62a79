"""Public names of the family: training."""

NAMES: dict[str, str] = {
    "headrace.train.checkpoints.saver": "train.Saver",
    "headrace.train.checkpoints.checkpoint_files": (
        "train.latest_checkpoint train.get_checkpoint_state train.update_checkpoint_state "
        "train.generate_checkpoint_state_proto train.checkpoint_exists "
        "train.get_checkpoint_mtimes train.remove_checkpoint"
    ),
    "headrace.train.checkpoints.start_from_checkpoint": "train.init_from_checkpoint",
    "headrace.train.checkpoints.object_checkpoint": "train.Checkpoint",
    "headrace.train.checkpoints.checkpoint_manager": "train.CheckpointManager",
    "headrace.train.checkpoints.warm_starting": "train.warm_start train.VocabInfo",
    "headrace.train.checkpoints.checkpoint_reader": (
        "train.NewCheckpointReader train.load_checkpoint train.load_variable "
        "train.list_variables train.checkpoints_iterator"
    ),
    "headrace.train.input_queues.input_producers": (
        "{io.,train.}match_filenames_once train.limit_epochs train.input_producer "
        "train.string_input_producer train.range_input_producer train.slice_input_producer"
    ),
    "headrace.train.input_queues.batching": (
        "train.batch train.maybe_batch train.batch_join train.maybe_batch_join"
    ),
    "headrace.train.input_queues.shuffled_batching": (
        "train.shuffle_batch train.maybe_shuffle_batch train.shuffle_batch_join "
        "train.maybe_shuffle_batch_join"
    ),
    "headrace.train.input_queues.coordinator": "train.Coordinator train.LooperThread",
    "headrace.train.input_queues.queue_runners": (
        "{train.,train.queue_runner.}QueueRunner {train.,train.queue_runner.}add_queue_runner "
        "{train.,train.queue_runner.}start_queue_runners"
    ),
    "headrace.train.schedules.step_count": (
        "train.global_step train.get_global_step train.create_global_step "
        "train.get_or_create_global_step train.assert_global_step"
    ),
    "headrace.train.schedules.moving_averages": "train.ExponentialMovingAverage",
    "headrace.train.schedules.learning_rate_decay": (
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
    "headrace.train.replicas.sync_replicas": "train.SyncReplicasOptimizer",
    "headrace.train.hooks.run_hook": (
        "train.SessionRunHook train.SessionRunArgs train.SessionRunContext train.SessionRunValues"
    ),
    "headrace.train.hooks.timer": "train.SecondOrStepTimer",
    "headrace.train.hooks.step_hooks": (
        "train.StopAtStepHook train.StepCounterHook train.GlobalStepWaiterHook"
    ),
    "headrace.train.hooks.checkpoint_saver": "train.CheckpointSaverHook train.CheckpointSaverListener",
    "headrace.train.hooks.value_hooks": (
        "train.LoggingTensorHook train.NanTensorHook train.NanLossDuringTrainingError "
        "train.FinalOpsHook train.FeedFnHook"
    ),
    "headrace.train.hooks.summary_saver": "train.SummarySaverHook train.ProfilerHook",
    "headrace.train.sessions.session_manager": "train.SessionManager",
    "headrace.train.sessions.scaffold": "train.Scaffold",
    "headrace.train.sessions.creators": (
        "train.SessionCreator train.ChiefSessionCreator train.WorkerSessionCreator"
    ),
    "headrace.train.sessions.monitored": "train.MonitoredSession train.SingularMonitoredSession",
    "headrace.train.sessions.training_session": "train.MonitoredTrainingSession",
    "headrace.train.sessions.supervisor": "train.Supervisor",
    "headrace.train.sessions.basic_loop": "train.basic_train_loop",
}
