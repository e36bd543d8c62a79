"""Public names of the family: summary."""

NAMES: dict[str, str] = {
    "headrace.functions.io.summary": (
        "summary.scalar summary.image summary.histogram summary.audio summary.text "
        "summary.tensor_summary summary.merge summary.merge_all summary.get_summary_description"
    ),
    "headrace.formats.records.events": "train.summary_iterator=read_events",
    "headrace.train.summaries.summary_writer": (
        "summary.initialize summary.all_v2_summary_ops contrib.summary.initialize "
        "contrib.summary.all_summary_ops=all_v2_summary_ops contrib.summary.create_file_writer "
        "contrib.summary.create_summary_file_writer contrib.summary.SummaryWriter "
        "contrib.summary.summary_writer_initializer_op contrib.summary.flush "
        "contrib.summary.should_record_summaries contrib.summary.always_record_summaries "
        "contrib.summary.never_record_summaries contrib.summary.record_if "
        "contrib.summary.record_summaries_every_n_global_steps"
    ),
    "headrace.train.summaries.recorded_summary": (
        "contrib.summary.generic contrib.summary.scalar contrib.summary.histogram "
        "contrib.summary.image contrib.summary.audio contrib.summary.graph "
        "contrib.summary.import_event contrib.summary.eval_dir"
    ),
    "headrace.train.summaries.file_writer": "summary.FileWriter summary.FileWriterCache",
}
