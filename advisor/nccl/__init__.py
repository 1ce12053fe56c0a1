"""What is known of NCCL: its variables, and the files and logs that tell of them."""
