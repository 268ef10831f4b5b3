"""Checks that several kinds share: metadata, resources, selectors, pod templates; words and paths of kube-apiserver."""
