"""Operators that Paddle 2.6.2 has: those of training and inference that others could have too."""

NAMES = frozenset(
    """
    abs abs_grad abs_p accuracy acos acos_grad acosh acosh_grad adadelta adagrad adam adamax adamw
    add_p add_position_encoding add_position_encoding_grad addmm addmm_grad affine_channel
    affine_channel_grad affine_grid affine_grid_grad all_gather all_reduce all_to_all allclose
    alloc_float_status alltoall angle angle_grad arange_tensor arg_max arg_min argsort argsort_grad
    array_length array_read array_to_lod_tensor array_to_tensor array_write as_complex as_real
    as_strided as_strided_grad asin asin_grad asinh asinh_grad assert assign assign_value atan atan2
    atan2_grad atan_grad atanh atanh_grad attention_lstm auc average_accumulates batch_fc batch_norm
    batch_norm_grad batch_norm_infer bce_loss bce_loss_grad beam_search beam_search_decode bernoulli
    bernoulli_p bicubic_interp bicubic_interp_grad bicubic_interp_v2 bicubic_interp_v2_grad
    bilateral_slice bilinear_interp bilinear_interp_grad bilinear_interp_v2 bilinear_interp_v2_grad
    bilinear_tensor_product bilinear_tensor_product_grad bincount bipartite_match bitwise_and
    bitwise_not bitwise_or bitwise_xor block_multihead_attention bmm bmm_grad bpr_loss bpr_loss_grad
    brelu brelu_grad broadcast broadcast_p broadcast_tensors broadcast_tensors_grad cast cast_grad
    cast_p ceil ceil_grad celu celu_grad celu_grad_grad channel_shuffle channel_shuffle_grad
    check_finite_and_unscale check_memory_continue check_model_nan_inf check_numerics cholesky
    cholesky_grad cholesky_solve cholesky_solve_grad chunk_eval class_center_sample
    clear_float_status clip clip_by_norm clip_grad coalesce_tensor complex complex_grad concat
    concat_grad concat_p conditional_block conditional_block_infer conj contiguous conv2d
    conv2d_grad conv2d_transpose conv2d_transpose_grad conv3d conv3d_grad conv3d_grad_grad
    conv3d_transpose conv3d_transpose_grad coo_to_dense coo_to_dense_grad copy_cross_scope
    correlation cos cos_grad cos_p cosh cosh_grad create_double_buffer_reader create_py_reader
    crf_decoding crop crop_grad crop_tensor crop_tensor_grad cross cross_entropy cross_entropy2
    cross_entropy_grad cross_entropy_grad2 cross_grad csr_to_dense ctc_align cudnn_lstm cummax
    cummax_grad cummin cummin_grad cumprod cumprod_grad cumsum cumsum_grad cvm cvm_grad data
    data_norm data_norm_grad decayed_adagrad decode_jpeg delete_var depend depthwise_conv2d
    depthwise_conv2d_grad depthwise_conv2d_transpose depthwise_conv2d_transpose_grad dequeue
    determinant determinant_grad diag_embed diag_v2 diag_v2_grad diagonal diagonal_grad digamma
    digamma_grad dirichlet dist dist_concat dist_grad div_p dot dot_grad dpsgd dropout dropout_grad
    dropout_nd dropout_nd_grad edit_distance eig eig_grad eigh eigh_grad eigvals eigvalsh
    eigvalsh_grad einsum einsum_grad einsum_infer elementwise_add elementwise_add_grad
    elementwise_add_grad_grad elementwise_div elementwise_div_grad elementwise_div_grad_grad
    elementwise_floordiv elementwise_fmax elementwise_fmax_grad elementwise_fmin
    elementwise_fmin_grad elementwise_heaviside elementwise_heaviside_grad elementwise_max
    elementwise_max_grad elementwise_min elementwise_min_grad elementwise_mod elementwise_mul
    elementwise_mul_grad elementwise_mul_grad_grad elementwise_pow elementwise_pow_grad
    elementwise_sub elementwise_sub_grad elementwise_sub_grad_grad elu elu_grad elu_grad_grad empty
    empty_like enqueue eq_p equal equal_all erf erf_grad erf_p erfinv erfinv_grad exp exp_grad exp_p
    expand expand_as_v2 expand_as_v2_grad expand_grad expand_v2 expand_v2_grad expm1 expm1_grad
    exponential eye faster_tokenizer fc feed feed_strings fetch fetch_v2 fft_c2c fft_c2c_grad
    fft_c2r fft_c2r_grad fft_r2c fft_r2c_grad fill fill_any fill_any_grad fill_any_like
    fill_constant fill_constant_batch_size_like fill_constant_p fill_diagonal fill_diagonal_grad
    fill_diagonal_tensor fill_diagonal_tensor_grad fill_zeros_like fill_zeros_like2 flatten flatten2
    flatten2_grad flatten_contiguous_range flatten_contiguous_range_grad flatten_grad flatten_infer
    flip floor floor_grad fold fold_grad frame frame_grad frobenius_norm frobenius_norm_grad fsp
    fsp_grad ftrl full_with_tensor fused_softmax_mask gather gather_grad gather_nd gather_nd_grad
    gather_p gather_tree gaussian_inplace gaussian_inplace_grad gaussian_random ge_p gelu gelu_grad
    get_float_status get_places get_tensor_from_selected_rows grad_add graph_khop_sampler
    graph_reindex graph_sample_neighbors greater_equal greater_than grid_sampler grid_sampler_grad
    group_norm group_norm_grad gru gru_grad gru_unit gru_unit_grad gt_p gumbel_softmax
    gumbel_softmax_grad hard_shrink hard_shrink_grad hard_sigmoid hard_sigmoid_grad hard_swish
    hard_swish_grad hash hierarchical_sigmoid hierarchical_sigmoid_grad hinge_loss hinge_loss_grad
    histogram huber_loss huber_loss_grad i0 i0_grad i0e i0e_grad i1 i1_grad i1e i1e_grad
    identity_loss identity_loss_grad im2sequence im2sequence_grad imag imag_grad increment index_add
    index_add_grad index_put index_put_grad index_sample index_sample_grad index_select
    index_select_grad index_select_grad_strided index_select_strided instance_norm
    instance_norm_grad inverse inverse_grad iou_similarity is_empty isclose isfinite_v2 isinf
    isinf_v2 isnan isnan_v2 kldiv_loss kldiv_loss_grad kron kron_grad kthvalue kthvalue_grad l1_norm
    l1_norm_grad label_smooth label_smooth_grad lamb lars_momentum layer_norm layer_norm_grad
    leaky_relu leaky_relu_grad leaky_relu_grad_grad lerp lerp_grad less_equal less_than lgamma
    lgamma_grad linear_chain_crf linear_chain_crf_grad linear_interp linear_interp_grad
    linear_interp_v2 linear_interp_v2_grad linspace load load_combine lod_array_length
    lod_rank_table lod_reset lod_tensor_to_array log log10 log10_grad log1p log1p_grad log2
    log2_grad log_grad log_grad_grad log_loss log_loss_grad log_p log_softmax log_softmax_grad
    logcumsumexp logcumsumexp_grad logical_and logical_not logical_or logical_xor logit logit_grad
    logsigmoid logsigmoid_grad logspace logsumexp logsumexp_grad lookup_table lookup_table_dequant
    lookup_table_grad lookup_table_v2 lookup_table_v2_grad lrn lrn_grad lstm lstm_grad lstsq lu
    lu_grad lu_unpack lu_unpack_grad margin_cross_entropy masked_multihead_attention masked_select
    masked_select_grad match_matrix_tensor match_matrix_tensor_grad matmul matmul_grad
    matmul_grad_grad matmul_p matmul_v2 matmul_v2_grad matmul_v2_grad_grad matrix_power
    matrix_power_grad matrix_rank matrix_rank_tol max_p max_pool2d_with_index
    max_pool2d_with_index_grad max_pool3d_with_index max_pool3d_with_index_grad max_sequence_len
    maxout maxout_grad mean mean_grad memcpy memcpy_d2h memcpy_d2h_multi_io memcpy_h2d
    merge_lod_tensor merge_lod_tensor_infer merge_selected_rows merged_adam merged_momentum meshgrid
    meshgrid_grad minus mish mish_grad mode mode_grad modified_huber_loss modified_huber_loss_grad
    moe momentum mul mul_grad mul_grad_grad mul_p multi_dot multi_dot_grad multi_gru
    multihead_matmul multinomial multiplex multiplex_grad mv mv_grad nanmedian nanmedian_grad nce
    nce_grad ne_p nearest_interp nearest_interp_grad nearest_interp_v2 nearest_interp_v2_grad
    negative nextafter nll_loss nll_loss_grad norm norm_grad not_equal npu_identity one_hot_v2
    overlap_add overlap_add_grad p_norm p_norm_grad p_recv pad pad2d pad3d pad3d_grad pad_grad
    pixel_shuffle pixel_shuffle_grad pixel_unshuffle pixel_unshuffle_grad poisson poisson_grad
    polygamma polygamma_grad pool2d pool2d_grad pool3d pool3d_grad positive_negative_pair pow
    pow2_decay_with_linear_warmup pow_grad pow_p precision_recall prelu prelu_grad print
    print_kernel prod_infer proximal_gd psroi_pool psroi_pool_grad put_along_axis
    put_along_axis_grad py_func pylayer qr qr_grad quant_linear queue_generator randint
    randint_with_seed randperm range rank_attention rank_loss rank_loss_grad read read_file
    read_from_array real real_grad reciprocal reciprocal_grad recurrent reduce reduce_all
    reduce_amax reduce_amax_grad reduce_amin reduce_amin_grad reduce_any reduce_max reduce_max_grad
    reduce_mean reduce_mean_grad reduce_min reduce_min_grad reduce_prod reduce_prod_grad
    reduce_scatter reduce_sum reduce_sum_grad reduce_sum_p relu relu6 relu6_grad relu_grad
    relu_grad_grad renorm renorm_grad reorder_lod_tensor_by_rank repeat_interleave
    repeat_interleave_grad repeat_interleave_with_tensor_index
    repeat_interleave_with_tensor_index_grad reshape reshape2 reshape2_grad reshape2_grad_grad
    reshape_grad reshape_infer reshape_p reverse rms_norm rmsprop rnn rnn_grad roll roll_grad round
    round_grad row_conv row_conv_grad rrelu rrelu_grad rsqrt rsqrt_grad rsqrt_grad_grad rsqrt_p
    run_program run_program_grad sampling_id save save_combine save_combine_vocab scale scatter
    scatter_add_p scatter_grad scatter_nd_add scatter_nd_add_grad searchsorted seed segment_pool
    segment_pool_grad select_input select_output select_p self_dp_attention selu selu_grad
    sequence_concat sequence_concat_grad sequence_conv sequence_conv_grad sequence_enumerate
    sequence_erase sequence_expand sequence_expand_as sequence_expand_as_grad sequence_expand_grad
    sequence_mask sequence_mask_scalar sequence_pad sequence_pad_grad sequence_pool
    sequence_pool_grad sequence_reshape sequence_reshape_grad sequence_reverse sequence_scatter
    sequence_scatter_grad sequence_slice sequence_slice_grad sequence_softmax sequence_softmax_grad
    sequence_unpad sequence_unpad_grad set_value set_value_grad set_value_with_scalar_grad
    set_value_with_tensor sgd shadow_feed shadow_output shape shard_index share_buffer share_data
    shrink_rnn_memory shuffle_batch shuffle_batch_grad shuffle_channel shuffle_channel_grad sigmoid
    sigmoid_cross_entropy_with_logits sigmoid_cross_entropy_with_logits_grad sigmoid_grad
    sigmoid_grad_grad sign silu silu_grad similarity_focus sin sin_grad sin_p sinh sinh_grad size
    skip_layernorm slice slice_array_dense slice_array_dense_grad slice_array_grad slice_assign_p
    slice_grad slice_select_p slogdeterminant slogdeterminant_grad soft_relu soft_relu_grad softmax
    softmax_grad softmax_with_cross_entropy softmax_with_cross_entropy_grad softplus softplus_grad
    softshrink softshrink_grad softsign softsign_grad solve solve_grad spectral_norm
    spectral_norm_grad split split_lod_tensor split_p split_strided split_with_num
    split_with_num_strided spp spp_grad sqrt sqrt_grad sqrt_grad_grad sqrt_p square square_grad
    square_grad_grad squared_l2_norm squared_l2_norm_grad squeeze squeeze2 squeeze2_grad
    squeeze_excitation_block squeeze_grad squeeze_infer stack stack_grad stanh stanh_grad stft
    stft_grad strided_copy strided_slice strided_slice_array_grad strided_slice_grad
    strided_slice_raw_grad stright_throuth_estimator_grad sub_p sum svd svd_grad swish swish_grad
    take_along_axis take_along_axis_grad tan tan_grad tanh tanh_grad tanh_grad_grad tanh_p
    tanh_shrink tanh_shrink_grad tdm_child tdm_sampler teacher_student_sigmoid_loss
    teacher_student_sigmoid_loss_grad temporal_shift temporal_shift_grad tensor_array_to_tensor
    tensor_unfold tensor_unfold_grad thresholded_relu thresholded_relu_grad tile tile_grad top_k
    top_k_grad top_k_v2 top_k_v2_grad top_p_sampling trace trace_grad trans_layout_grad
    transfer_dtype transfer_layout transpose transpose2 transpose2_grad transpose_grad transpose_p
    triangular_solve triangular_solve_grad tril tril_grad tril_indices tril_triu tril_triu_grad
    trilinear_interp trilinear_interp_grad trilinear_interp_v2 trilinear_interp_v2_grad triu
    triu_grad triu_indices trunc trunc_grad truncated_gaussian_random unbind unfold unfold_grad
    uniform_random uniform_random_batch_size_like uniform_random_inplace uniform_random_inplace_grad
    uniform_random_p unique unique_consecutive unique_with_counts unpool unpool3d unpool3d_grad
    unpool_grad unsqueeze2 unsqueeze2_grad unsqueeze_infer unstack unstack_grad unzip unzip_grad
    update_loss_scaling var_conv_2d var_conv_2d_grad view_dtype view_grad_dtype view_grad_shape
    view_shape viterbi_decode warpctc warpctc_grad warprnnt warprnnt_grad weighted_sample_neighbors
    where where_grad where_index while write_to_array
    """.split()
)
