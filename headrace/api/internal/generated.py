"""TensorFlow's generated modules: a function for each op (@MatMul is mat_mul); some are public."""

MODULES: dict[str, str] = {
    "python.ops.gen_array_ops": (
        "batch_to_space_nd bitcast broadcast_to check_numerics dequantize diag diag_part "
        "extract_volume_patches fake_quant_with_min_max_args "
        "fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars "
        "fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel "
        "fake_quant_with_min_max_vars_per_channel_gradient guarantee_const identity_n "
        "invert_permutation matrix_band_part quantized_concat reverse_v2 scatter_nd "
        "space_to_batch_nd stop_gradient tensor_scatter_add tensor_scatter_sub "
        "tensor_scatter_update tile unravel_index @Slice @BatchMatrixBandPart @BatchMatrixDiag "
        "@BatchMatrixDiagPart @BatchMatrixSetDiag @BatchToSpace @BroadcastArgs "
        "@BroadcastGradientArgs @Concat @ConcatOffset @ConcatV2 @ConjugateTranspose @Const "
        "@DeepCopy @DepthToSpace @EditDistance @Empty @EnsureShape @ExpandDims "
        "@ExtractImagePatches @Fill @Fingerprint @Gather @GatherNd @GatherV2 @Identity "
        "@ImmutableConst @InplaceAdd @InplaceSub @InplaceUpdate @ListDiff @LowerBound "
        "@MatrixDiag @MatrixDiagPart @MatrixDiagPartV2 @MatrixDiagV2 @MatrixSetDiag "
        "@MatrixSetDiagV2 @MirrorPad @MirrorPadGrad @OneHot @OnesLike @Pack @Pad @PadV2 "
        "@ParallelConcat @Placeholder @PlaceholderV2 @PlaceholderWithDefault @PreventGradient "
        "@QuantizeAndDequantize @QuantizeAndDequantizeV2 @QuantizeAndDequantizeV3 @QuantizeV2 "
        "@QuantizedInstanceNorm @QuantizedReshape @Rank @RefIdentity @Reshape "
        "@ResourceStridedSliceAssign @Reverse @ReverseSequence @ScatterNdNonAliasingAdd @Shape "
        "@ShapeN @Size @Snapshot @SpaceToBatch @SpaceToDepth @Split @SplitV @Squeeze "
        "@StridedSlice @StridedSliceAssign @StridedSliceGrad @TensorStridedSliceUpdate @TileGrad "
        "@Transpose @Unique @UniqueV2 @UniqueWithCounts @UniqueWithCountsV2 @Unpack @UpperBound "
        "@Where @ZerosLike"
    ),
    "python.ops.gen_audio_ops": "audio/ decode_wav encode_wav @AudioSpectrogram @Mfcc",
    "python.ops.gen_bitwise_ops": (
        "bitwise/ bitwise_and bitwise_or bitwise_xor invert left_shift right_shift @PopulationCount"
    ),
    "python.ops.gen_candidate_sampling_ops": (
        "@AllCandidateSampler @ComputeAccidentalHits @FixedUnigramCandidateSampler "
        "@LearnedUnigramCandidateSampler @LogUniformCandidateSampler "
        "@ThreadUnsafeUnigramCandidateSampler @UniformCandidateSampler"
    ),
    "python.ops.gen_checkpoint_ops": "@GenerateVocabRemapping @LoadAndRemapMatrix",
    "python.ops.gen_collective_ops": (
        "@CollectiveBcastRecv @CollectiveBcastSend @CollectiveGather @CollectiveReduce"
    ),
    "python.ops.gen_control_flow_ops": (
        "no_op @Exit @Abort @ControlTrigger @Enter @LoopCond @Merge @NextIteration @RefEnter "
        "@RefExit @RefMerge @RefNextIteration @RefSelect @RefSwitch @Switch"
    ),
    "python.ops.gen_ctc_ops": "@CTCBeamSearchDecoder @CTCGreedyDecoder @CTCLoss",
    "python.ops.gen_data_flow_ops": (
        "dynamic_partition dynamic_stitch @GetSessionHandle @GetSessionTensor @DeleteSessionTensor "
        "@Barrier @BarrierClose @BarrierIncompleteSize @BarrierInsertMany @BarrierReadySize "
        "@BarrierTakeMany @Stack @AccumulatorApplyGradient @AccumulatorNumAccumulated "
        "@AccumulatorSetGlobalStep @AccumulatorTakeGradient @ConditionalAccumulator @FakeQueue "
        "@FIFOQueue @FIFOQueueV2 @MapClear @MapIncompleteSize @MapPeek @MapSize @MapStage @MapUnstage "
        "@MapUnstageNoKey @OrderedMapClear @OrderedMapIncompleteSize @OrderedMapPeek @OrderedMapSize "
        "@OrderedMapStage @OrderedMapUnstage @OrderedMapUnstageNoKey @PaddingFIFOQueue "
        "@PaddingFIFOQueueV2 @ParallelDynamicStitch @PriorityQueue @PriorityQueueV2 @QueueClose "
        "@QueueCloseV2 @QueueDequeue @QueueDequeueMany @QueueDequeueManyV2 @QueueDequeueUpTo "
        "@QueueDequeueUpToV2 @QueueDequeueV2 @QueueEnqueue @QueueEnqueueMany @QueueEnqueueManyV2 "
        "@QueueEnqueueV2 @QueueIsClosed @QueueIsClosedV2 @QueueSize @QueueSizeV2 @RandomShuffleQueue "
        "@RandomShuffleQueueV2 @RecordInput @ResourceAccumulatorApplyGradient "
        "@ResourceAccumulatorNumAccumulated @ResourceAccumulatorSetGlobalStep "
        "@ResourceAccumulatorTakeGradient @ResourceConditionalAccumulator "
        "@SparseAccumulatorApplyGradient @SparseAccumulatorTakeGradient @SparseConditionalAccumulator "
        "@StackClose @StackCloseV2 @StackPop @StackPopV2 @StackPush @StackPushV2 @StackV2 @Stage "
        "@StageClear @StagePeek @StageSize @TensorArray @TensorArrayClose @TensorArrayCloseV2 "
        "@TensorArrayCloseV3 @TensorArrayConcat @TensorArrayConcatV2 @TensorArrayConcatV3 "
        "@TensorArrayGather @TensorArrayGatherV2 @TensorArrayGatherV3 @TensorArrayGrad "
        "@TensorArrayGradV2 @TensorArrayGradV3 @TensorArrayGradWithShape @TensorArrayPack "
        "@TensorArrayRead @TensorArrayReadV2 @TensorArrayReadV3 @TensorArrayScatter "
        "@TensorArrayScatterV2 @TensorArrayScatterV3 @TensorArraySize @TensorArraySizeV2 "
        "@TensorArraySizeV3 @TensorArraySplit @TensorArraySplitV2 @TensorArraySplitV3 "
        "@TensorArrayUnpack @TensorArrayV2 @TensorArrayV3 @TensorArrayWrite @TensorArrayWriteV2 "
        "@TensorArrayWriteV3 @Unstage @GetSessionHandleV2"
    ),
    "python.ops.gen_dataset_ops": (
        "@OptionalFromValue @OptionalGetValue @OptionalHasValue @OptionalNone @AnonymousIterator "
        "@AnonymousIteratorV2 @BatchDataset @BatchDatasetV2 @CacheDataset @CacheDatasetV2 "
        "@ConcatenateDataset @DatasetToSingleElement @DeleteIterator @DeserializeIterator "
        "@FilterByLastComponentDataset @FilterDataset @FixedLengthRecordDataset "
        "@FixedLengthRecordDatasetV2 @FlatMapDataset @GeneratorDataset @InterleaveDataset @Iterator "
        "@IteratorFromStringHandle @IteratorFromStringHandleV2 @IteratorGetNext "
        "@IteratorGetNextAsOptional @IteratorGetNextSync @IteratorToStringHandle @IteratorV2 "
        "@MakeIterator @MapDataset @ModelDataset @OneShotIterator @OptimizeDataset "
        "@PaddedBatchDataset @PaddedBatchDatasetV2 @ParallelInterleaveDatasetV2 @ParallelMapDataset "
        "@PrefetchDataset @RangeDataset @ReduceDataset @RepeatDataset @SerializeIterator "
        "@ShardDataset @ShuffleAndRepeatDataset @ShuffleDataset @SkipDataset "
        "@SparseTensorSliceDataset @TFRecordDataset @TakeDataset @TensorDataset @TensorSliceDataset "
        "@TextLineDataset @UnwrapDatasetVariant @WindowDataset @WrapDatasetVariant @ZipDataset"
    ),
    "python.ops.gen_decode_proto_ops": "io/ decode_proto_v2=decode_proto",
    "python.ops.gen_encode_proto_ops": "io/ encode_proto",
    "python.ops.gen_functional_ops": (
        "@For @If @While @Case @FakeParam @PartitionedCall @RemoteCall @StatefulPartitionedCall "
        "@StatelessIf @StatelessWhile @SymbolicGradient"
    ),
    "python.ops.gen_image_ops": (
        "image/ encode_png hsv_to_rgb resize_area rgb_to_hsv io/ decode_and_crop_jpeg decode_bmp "
        "decode_gif decode_jpeg decode_png encode_jpeg extract_jpeg_shape @AdjustContrast "
        "@AdjustContrastv2 @AdjustHue @AdjustSaturation @CombinedNonMaxSuppression "
        "@CropAndResize @CropAndResizeGradBoxes @CropAndResizeGradImage @DrawBoundingBoxes "
        "@DrawBoundingBoxesV2 @EncodeJpegVariableQuality @ExtractGlimpse @NonMaxSuppression "
        "@NonMaxSuppressionV2 @NonMaxSuppressionV3 @NonMaxSuppressionV4 @NonMaxSuppressionV5 "
        "@NonMaxSuppressionWithOverlaps @QuantizedResizeBilinear @RandomCrop @ResizeBicubic "
        "@ResizeBicubicGrad @ResizeBilinear @ResizeBilinearGrad @ResizeNearestNeighbor "
        "@ResizeNearestNeighborGrad @SampleDistortedBoundingBox @SampleDistortedBoundingBoxV2 "
        "@ScaleAndTranslate @ScaleAndTranslateGrad"
    ),
    "python.ops.gen_io_ops": (
        "matching_files read_file write_file @FixedLengthRecordReader @FixedLengthRecordReaderV2 "
        "@IdentityReader @IdentityReaderV2 @MergeV2Checkpoints @ReaderNumRecordsProduced "
        "@ReaderNumRecordsProducedV2 @ReaderNumWorkUnitsCompleted @ReaderNumWorkUnitsCompletedV2 "
        "@ReaderRead @ReaderReadUpTo @ReaderReadUpToV2 @ReaderReadV2 @ReaderReset @ReaderResetV2 "
        "@ReaderRestoreState @ReaderRestoreStateV2 @ReaderSerializeState @ReaderSerializeStateV2 "
        "@Restore @RestoreSlice @RestoreV2 @Save @SaveSlices @SaveV2 @ShardedFilename "
        "@ShardedFilespec @TextLineReader @TextLineReaderV2 @TFRecordReader @TFRecordReaderV2 "
        "@WholeFileReader @WholeFileReaderV2"
    ),
    "python.ops.gen_linalg_ops": (
        "cholesky matrix_determinant matrix_inverse matrix_solve matrix_square_root "
        "matrix_triangular_solve qr linalg/ log_matrix_determinant=slogdet lu "
        "matrix_logarithm=logm @BatchCholesky @BatchCholeskyGrad @BatchMatrixDeterminant "
        "@BatchMatrixInverse @BatchMatrixSolve @BatchMatrixSolveLs @BatchMatrixTriangularSolve "
        "@BatchSelfAdjointEig @BatchSelfAdjointEigV2 @BatchSvd @CholeskyGrad @Einsum "
        "@MatrixExponential @MatrixSolveLs @SelfAdjointEig @SelfAdjointEigV2 @Svd "
        "@TridiagonalMatMul @TridiagonalSolve"
    ),
    "python.ops.gen_list_ops": (
        "@EmptyTensorList @TensorListConcat @TensorListConcatLists @TensorListConcatV2 "
        "@TensorListElementShape @TensorListFromTensor @TensorListGather @TensorListGetItem "
        "@TensorListLength @TensorListPopBack @TensorListPushBack @TensorListPushBackBatch "
        "@TensorListReserve @TensorListResize @TensorListScatter "
        "@TensorListScatterIntoExistingList @TensorListScatterV2 @TensorListSetItem "
        "@TensorListSplit @TensorListStack"
    ),
    "python.ops.gen_logging_ops": (
        "@Assert @Print @AudioSummary @AudioSummaryV2 @HistogramSummary @ImageSummary "
        "@MergeSummary @PrintV2 @ScalarSummary @TensorSummary @TensorSummaryV2 timestamp"
    ),
    "python.ops.gen_manip_ops": "@Roll",
    "python.ops.gen_math_ops": (
        "acos acosh add arg_max arg_min asin asinh atan atan2 atanh betainc ceil cos cosh cross "
        "digamma erf erfc exp expm1 floor floor_div floor_mod=mod greater greater_equal igamma "
        "igammac is_finite is_inf is_nan less less_equal lgamma lin_space log log1p logical_and "
        "logical_not logical_or maximum minimum neg=negative polygamma real_div=realdiv "
        "reciprocal rint rsqrt segment_max segment_mean segment_min segment_prod segment_sum "
        "sign sin sinh sparse_mat_mul=sparse_matmul sqrt square squared_difference tan tanh "
        "truncate_div=truncatediv truncate_mod=truncatemod unsorted_segment_max "
        "unsorted_segment_min unsorted_segment_prod unsorted_segment_sum zeta math/ bessel_i0e "
        "bessel_i1e next_after=nextafter xdivy xlogy @Abs @All @Any @ClipByValue @Complex "
        "@HistogramFixedWidth @Max @Min @Pow @Range @Sum @AccumulateNV2 @AddN @AddV2 @Angle "
        "@ApproximateEqual @BatchMatMul @BatchMatMulV2 @Bincount @Bucketize @Cast "
        "@CompareAndBitpack @ComplexAbs @Conj @Cumprod @Cumsum @CumulativeLogsumexp @Div "
        "@DivNoNan @Equal @EuclideanNorm @IgammaGradA @Imag @Inv @InvGrad @MatMul @Mean @Mod "
        "@Mul @MulNoNan @NotEqual @Prod @QuantizeDownAndShrinkRange @QuantizedAdd "
        "@QuantizedMatMul @QuantizedMul @Real @ReciprocalGrad @RequantizationRange @Requantize "
        "@Round @RsqrtGrad @Select @SelectV2 @Sigmoid @SigmoidGrad @SparseSegmentMean "
        "@SparseSegmentMeanGrad @SparseSegmentMeanWithNumSegments @SparseSegmentSqrtN "
        "@SparseSegmentSqrtNGrad @SparseSegmentSqrtNWithNumSegments @SparseSegmentSum "
        "@SparseSegmentSumWithNumSegments @SqrtGrad @Sub @TanhGrad"
    ),
    "python.ops.gen_nn_ops": (
        "nn/ conv3d_backprop_filter_v2 depthwise_conv2d_native "
        "depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input elu "
        "l2_loss lrn quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x "
        "relu selu softplus softsign @BatchNormWithGlobalNormalization @FusedBatchNorm @AvgPool "
        "@AvgPool3D @AvgPool3DGrad @AvgPoolGrad @BatchNormWithGlobalNormalizationGrad @BiasAdd "
        "@BiasAddGrad @BiasAddV1 @Conv2D @Conv2DBackpropFilter @Conv2DBackpropInput @Conv3D "
        "@Conv3DBackpropFilter @Conv3DBackpropInput @Conv3DBackpropInputV2 @DataFormatDimMap "
        "@DataFormatVecPermute @Dilation2D @Dilation2DBackpropFilter @Dilation2DBackpropInput "
        "@EluGrad @FractionalAvgPool @FractionalAvgPoolGrad @FractionalMaxPool "
        "@FractionalMaxPoolGrad @FusedBatchNormGrad @FusedBatchNormGradV2 @FusedBatchNormGradV3 "
        "@FusedBatchNormV2 @FusedBatchNormV3 @FusedPadConv2D @FusedResizeAndPadConv2D @InTopK "
        "@InTopKV2 @LeakyRelu @LeakyReluGrad @LogSoftmax @LRNGrad @MaxPool @MaxPool3D "
        "@MaxPool3DGrad @MaxPool3DGradGrad @MaxPoolGrad @MaxPoolGradGrad @MaxPoolGradGradV2 "
        "@MaxPoolGradGradWithArgmax @MaxPoolGradV2 @MaxPoolGradWithArgmax @MaxPoolV2 "
        "@MaxPoolWithArgmax @NthElement @QuantizedBatchNormWithGlobalNormalization "
        "@QuantizedBiasAdd @QuantizedRelu @QuantizedRelu6 @Relu6 @Relu6Grad @ReluGrad @SeluGrad "
        "@Softmax @SoftmaxCrossEntropyWithLogits @SoftplusGrad @SoftsignGrad "
        "@SparseSoftmaxCrossEntropyWithLogits @TopK @TopKV2"
    ),
    "python.ops.gen_parsing_ops": (
        "decode_compressed decode_json_example parse_tensor serialize_tensor @DecodeCSV "
        "@DecodePaddedRaw @DecodeRaw @ParseExample @ParseSequenceExample @ParseSingleExample "
        "@ParseSingleSequenceExample @StringToNumber"
    ),
    "python.ops.gen_ragged_array_ops": "@RaggedGather",
    "python.ops.gen_ragged_conversion_ops": (
        "@RaggedTensorFromVariant @RaggedTensorToSparse @RaggedTensorToTensor @RaggedTensorToVariant"
    ),
    "python.ops.gen_ragged_math_ops": "@RaggedRange",
    "python.ops.gen_random_ops": (
        "@Multinomial @ParameterizedTruncatedNormal @RandomGamma @RandomGammaGrad @RandomPoisson "
        "@RandomPoissonV2 @RandomShuffle @RandomStandardNormal @RandomUniform @RandomUniformInt "
        "@TruncatedNormal"
    ),
    "python.ops.gen_resource_variable_ops": (
        "@AssignAddVariableOp @AssignSubVariableOp @AssignVariableOp @DestroyResourceOp "
        "@ReadVariableOp @ResourceGather @ResourceGatherNd @ResourceScatterAdd @ResourceScatterDiv "
        "@ResourceScatterMax @ResourceScatterMin @ResourceScatterMul @ResourceScatterSub "
        "@ResourceScatterUpdate @VarHandleOp @VarIsInitializedOp @VariableShape @ConsumeMutexLock "
        "@MutexLock @MutexV2"
    ),
    "python.ops.gen_rnn_ops": (
        "@BlockLSTM @BlockLSTMGrad @BlockLSTMGradV2 @BlockLSTMV2 @GRUBlockCell @GRUBlockCellGrad "
        "@LSTMBlockCell @LSTMBlockCellGrad"
    ),
    "python.ops.gen_script_ops": "@EagerPyFunc @PyFunc @PyFuncStateless",
    "python.ops.gen_set_ops": (
        "@DenseToDenseSetOperation @DenseToSparseSetOperation @SetSize @SparseToSparseSetOperation"
    ),
    "python.ops.gen_sparse_ops": (
        "@AddManySparseToTensorsMap @AddSparseToTensorsMap @DeserializeManySparse "
        "@DeserializeSparse @SerializeManySparse @SerializeSparse @SparseAdd @SparseAddGrad "
        "@SparseConcat @SparseCross @SparseDenseCwiseAdd @SparseDenseCwiseDiv "
        "@SparseDenseCwiseMul @SparseFillEmptyRows @SparseFillEmptyRowsGrad @SparseReduceMax "
        "@SparseReduceMaxSparse @SparseReduceSum @SparseReduceSumSparse @SparseReorder "
        "@SparseReshape @SparseSlice @SparseSliceGrad @SparseSoftmax @SparseSparseMaximum "
        "@SparseSparseMinimum @SparseSplit @SparseTensorDenseAdd @SparseTensorDenseMatMul "
        "@SparseToDense @TakeManySparseFromTensorsMap"
    ),
    "python.ops.gen_spectral_ops": (
        "fft fft2d fft3d ifft ifft2d ifft3d @BatchFFT @BatchFFT2D @BatchFFT3D @BatchIFFT "
        "@BatchIFFT2D @BatchIFFT3D @IRFFT @IRFFT2D @IRFFT3D @RFFT @RFFT2D @RFFT3D"
    ),
    "python.ops.gen_state_ops": (
        "@Assign @AssignAdd @AssignSub @CountUpTo @DestroyTemporaryVariable "
        "@IsVariableInitialized @ResourceCountUpTo @ResourceScatterNdAdd @ResourceScatterNdSub "
        "@ResourceScatterNdUpdate @ScatterAdd @ScatterDiv @ScatterMax @ScatterMin @ScatterMul "
        "@ScatterNdAdd @ScatterNdSub @ScatterNdUpdate @ScatterSub @ScatterUpdate "
        "@TemporaryVariable @Variable @VariableV2"
    ),
    "python.ops.gen_stateful_random_ops": (
        "@NonDeterministicInts @RngSkip @StatefulRandomBinomial @StatefulStandardNormal "
        "@StatefulStandardNormalV2 @StatefulTruncatedNormal @StatefulUniform "
        "@StatefulUniformFullInt @StatefulUniformInt"
    ),
    "python.ops.gen_stateless_random_ops": (
        "@StatelessMultinomial @StatelessRandomNormal @StatelessRandomUniform "
        "@StatelessRandomUniformInt @StatelessTruncatedNormal"
    ),
    "python.ops.gen_string_ops": (
        "as_string decode_base64 encode_base64 string_join string_strip "
        "string_to_hash_bucket_fast string_to_hash_bucket_strong strings/ string_lower=lower "
        "string_upper=upper unicode_script unicode_transcode unsorted_segment_join @ReduceJoin "
        "@RegexFullMatch @RegexReplace @StaticRegexFullMatch @StaticRegexReplace @StringFormat "
        "@StringLength @StringNGrams @StringSplit @StringSplitV2 @StringToHashBucket @Substr "
        "@UnicodeDecode @UnicodeDecodeWithOffsets @UnicodeEncode"
    ),
    "python.ops.gen_summary_ops": (
        "@CloseSummaryWriter @CreateSummaryFileWriter @FlushSummaryWriter @ImportEvent "
        "@SummaryWriter @WriteAudioSummary @WriteGraphSummary @WriteHistogramSummary "
        "@WriteImageSummary @WriteRawProtoSummary @WriteScalarSummary @WriteSummary"
    ),
    "python.training.gen_training_ops": (
        "@ApplyAdaMax @ApplyAdadelta @ApplyAdagrad @ApplyAdagradDA @ApplyAdagradV2 @ApplyAdam "
        "@ApplyAddSign @ApplyCenteredRMSProp @ApplyFtrl @ApplyFtrlV2 @ApplyGradientDescent "
        "@ApplyMomentum @ApplyPowerSign @ApplyProximalAdagrad @ApplyProximalGradientDescent "
        "@ApplyRMSProp @ResourceApplyAdaMax @ResourceApplyAdadelta @ResourceApplyAdagrad "
        "@ResourceApplyAdagradDA @ResourceApplyAdagradV2 @ResourceApplyAdam "
        "@ResourceApplyAdamWithAmsgrad @ResourceApplyAddSign @ResourceApplyCenteredRMSProp "
        "@ResourceApplyFtrl @ResourceApplyFtrlV2 @ResourceApplyGradientDescent "
        "@ResourceApplyKerasMomentum @ResourceApplyMomentum @ResourceApplyPowerSign "
        "@ResourceApplyProximalAdagrad @ResourceApplyProximalGradientDescent "
        "@ResourceApplyRMSProp @ResourceSparseApplyAdadelta @ResourceSparseApplyAdagrad "
        "@ResourceSparseApplyAdagradDA @ResourceSparseApplyAdagradV2 "
        "@ResourceSparseApplyCenteredRMSProp @ResourceSparseApplyFtrl @ResourceSparseApplyFtrlV2 "
        "@ResourceSparseApplyKerasMomentum @ResourceSparseApplyMomentum "
        "@ResourceSparseApplyProximalAdagrad @ResourceSparseApplyProximalGradientDescent "
        "@ResourceSparseApplyRMSProp @SparseApplyAdadelta @SparseApplyAdagrad "
        "@SparseApplyAdagradDA @SparseApplyAdagradV2 @SparseApplyCenteredRMSProp "
        "@SparseApplyFtrl @SparseApplyFtrlV2 @SparseApplyMomentum @SparseApplyProximalAdagrad "
        "@SparseApplyProximalGradientDescent @SparseApplyRMSProp"
    ),
    "python.ops.gen_batch_ops": "@Batch @BatchFunction @Unbatch @UnbatchGrad",
    "python.ops.gen_clustering_ops": (
        "@KMC2ChainInitialization @KmeansPlusPlusInitialization @NearestNeighbors"
    ),
    "python.ops.gen_experimental_dataset_ops": (
        "@AssertNextDataset @BytesProducedStatsDataset @CSVDataset @ChooseFastestDataset "
        "@DatasetCardinality @DatasetToTFRecord @DenseToSparseBatchDataset @DirectedInterleaveDataset "
        "@ExperimentalAssertNextDataset @ExperimentalBytesProducedStatsDataset "
        "@ExperimentalCSVDataset @ExperimentalChooseFastestDataset @ExperimentalDatasetCardinality "
        "@ExperimentalDatasetToTFRecord @ExperimentalDenseToSparseBatchDataset "
        "@ExperimentalDirectedInterleaveDataset @ExperimentalGroupByReducerDataset "
        "@ExperimentalGroupByWindowDataset @ExperimentalIgnoreErrorsDataset "
        "@ExperimentalIteratorGetDevice @ExperimentalLatencyStatsDataset "
        "@ExperimentalMapAndBatchDataset @ExperimentalMapDataset @ExperimentalMatchingFilesDataset "
        "@ExperimentalMaxIntraOpParallelismDataset @ExperimentalNonSerializableDataset "
        "@ExperimentalParallelInterleaveDataset @ExperimentalPrivateThreadPoolDataset "
        "@ExperimentalRandomDataset @ExperimentalScanDataset @ExperimentalSetStatsAggregatorDataset "
        "@ExperimentalSleepDataset @ExperimentalSlidingWindowDataset @ExperimentalSqlDataset "
        "@ExperimentalStatsAggregatorHandle @ExperimentalStatsAggregatorSummary "
        "@ExperimentalTakeWhileDataset @ExperimentalUnbatchDataset @ExperimentalUniqueDataset "
        "@GroupByReducerDataset @GroupByWindowDataset @IgnoreErrorsDataset @IteratorGetDevice "
        "@LatencyStatsDataset @MapAndBatchDataset @MatchingFilesDataset @MaxIntraOpParallelismDataset "
        "@NonSerializableDataset @ParallelInterleaveDataset @PrivateThreadPoolDataset @RandomDataset "
        "@SamplingDataset @ScanDataset @SetStatsAggregatorDataset @SleepDataset @SlidingWindowDataset "
        "@SqlDataset @StatsAggregatorHandle @StatsAggregatorHandleV2 @StatsAggregatorSetSummaryWriter "
        "@StatsAggregatorSummary @TakeWhileDataset @UnbatchDataset @UniqueDataset"
    ),
    "python.ops.gen_lookup_ops": (
        "@HashTable @HashTableV2 @InitializeTable @InitializeTableFromTextFile "
        "@InitializeTableFromTextFileV2 @InitializeTableV2 @LookupTableExport @LookupTableExportV2 "
        "@LookupTableFind @LookupTableFindV2 @LookupTableImport @LookupTableImportV2 "
        "@LookupTableInsert @LookupTableInsertV2 @LookupTableRemoveV2 @LookupTableSize "
        "@LookupTableSizeV2 @MutableDenseHashTable @MutableDenseHashTableV2 @MutableHashTable "
        "@MutableHashTableOfTensors @MutableHashTableOfTensorsV2 @MutableHashTableV2"
    ),
}
