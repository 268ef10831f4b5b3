"""What simulated containers use: KWOK's ResourceUsage and ClusterResourceUsage, and the measurements made from them."""
