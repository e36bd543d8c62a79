"""Public names of the family: strings and printing."""

NAMES: dict[str, str] = {
    "headrace.functions.strings.string": (
        "strings.strip=string_strip string_strip strings.lower=string_lower "
        "strings.upper=string_upper strings.length=string_length {,strings.}substr "
        "strings.regex_full_match {,strings.}regex_replace {,strings.,dtypes.}as_string "
        "strings.to_number=string_to_number string_to_number "
        "strings.to_hash_bucket=string_to_hash_bucket string_to_hash_bucket "
        "strings.to_hash_bucket_fast=string_to_hash_bucket_fast string_to_hash_bucket_fast "
        "strings.to_hash_bucket_strong=string_to_hash_bucket_strong string_to_hash_bucket_strong "
        "{,io.}encode_base64 {,io.}decode_base64 strings.unicode_script "
        "strings.unicode_transcode strings.join=string_join string_join {,strings.}reduce_join "
        "strings.unsorted_segment_join strings.format=string_format"
    ),
    "headrace.functions.strings.ragged": (
        "string_split strings.split=strings_split strings.bytes_split=string_bytes_split "
        "strings.unicode_encode strings.unicode_decode strings.unicode_decode_with_offsets "
        "strings.unicode_split strings.unicode_split_with_offsets strings.ngrams"
    ),
    "headrace.functions.strings.print": "Print print=print_",
}
