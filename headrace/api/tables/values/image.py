"""Public names of the family: image."""

NAMES: dict[str, str] = {
    "headrace.functions.image.boxes": (
        "image.non_max_suppression image.non_max_suppression_with_scores "
        "image.non_max_suppression_padded "
        "image.non_max_suppression_overlaps=non_max_suppression_with_overlaps "
        "image.combined_non_max_suppression image.draw_bounding_boxes "
        "image.sample_distorted_bounding_box"
    ),
    "headrace.functions.image.codec": (
        "{image.,io.}decode_image {image.,io.}is_jpeg image.adjust_jpeg_quality image.random_jpeg_quality"
    ),
    "headrace.functions.image.color": (
        "image.convert_image_dtype image.rgb_to_grayscale image.grayscale_to_rgb image.rgb_to_yiq "
        "image.yiq_to_rgb image.rgb_to_yuv image.yuv_to_rgb image.per_image_standardization "
        "image.adjust_brightness image.adjust_contrast image.adjust_gamma image.adjust_hue "
        "image.adjust_saturation image.random_brightness image.random_contrast "
        "image.random_saturation image.random_hue"
    ),
    "headrace.functions.image.crop": (
        "image.central_crop image.pad_to_bounding_box image.crop_to_bounding_box "
        "image.resize_with_crop_or_pad=resize_image_with_crop_or_pad "
        "image.resize_image_with_crop_or_pad image.crop_and_resize image.extract_glimpse "
        "{,image.}extract_image_patches image.extract_patches extract_volume_patches"
    ),
    "headrace.functions.image.flip": (
        "image.flip_left_right image.flip_up_down image.random_flip_left_right "
        "image.random_flip_up_down image.rot90 image.transpose image.transpose_image=transpose"
    ),
    "headrace.functions.image.metrics": (
        "image.psnr image.ssim image.ssim_multiscale image.total_variation image.image_gradients "
        "image.sobel_edges"
    ),
    "headrace.functions.image.resize": (
        "image.ResizeMethod image.resize=resize_images image.resize_images "
        "image.resize_image_with_pad image.resize_bilinear image.resize_bicubic "
        "image.resize_nearest_neighbor image.resize_area"
    ),
    "headrace.ops.image.codec": (
        "{image.,io.}decode_jpeg {image.,io.}decode_and_crop_jpeg {image.,io.}encode_jpeg "
        "{image.,io.}extract_jpeg_shape {image.,io.}decode_png image.encode_png "
        "{image.,io.}decode_gif {image.,io.}decode_bmp"
    ),
    "headrace.ops.image.color": "image.rgb_to_hsv image.hsv_to_rgb",
}
