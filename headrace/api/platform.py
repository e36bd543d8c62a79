"""Public names of the family: the program and its surroundings."""

NAMES: dict[str, str] = {
    "headrace.core.log": (
        "get_logger logging.DEBUG logging.ERROR logging.FATAL logging.INFO logging.WARN "
        "logging.TaskLevelStatusMessage logging.debug logging.error logging.fatal logging.flush "
        "logging.get_verbosity logging.info logging.log logging.log_every_n logging.log_first_n "
        "logging.log_if logging.set_verbosity logging.vlog logging.warn logging.warning"
    ),
    "headrace.functions.flags": "{,app.}flags=.",
    "headrace.functions.app": "app.run",
    "headrace.functions.compat": (
        "compat.as_bytes compat.as_str compat.as_str_any compat.as_text compat.path_to_str "
        "compat.bytes_or_text_types compat.complex_types compat.integral_types compat.real_types "
        "{,compat.}dimension_at_index {,compat.}dimension_value compat.forward_compatible "
        "compat.forward_compatibility_horizon"
    ),
    "headrace.formats.files": (
        "{,io.}gfile.GFile gfile.FastGFile gfile.Open=GFile gfile.Copy=copy_v1 "
        "gfile.DeleteRecursively=delete_recursively_v1 gfile.Exists=exists_v1 gfile.Glob=glob_v1 "
        "gfile.IsDirectory=is_directory_v1 gfile.ListDirectory=list_directory_v1 "
        "gfile.MakeDirs=makedirs_v1 gfile.MkDir=mkdir_v1 gfile.Remove=remove_v1 "
        "gfile.Rename=rename_v1 gfile.Stat=stat_v1 gfile.Walk=walk_v1 io.gfile.copy "
        "io.gfile.exists io.gfile.glob io.gfile.isdir io.gfile.listdir io.gfile.makedirs "
        "io.gfile.mkdir io.gfile.remove io.gfile.rename io.gfile.rmtree io.gfile.stat io.gfile.walk"
    ),
}
