"""Custom resources: what a CustomResourceDefinition makes of the API.

definitions   names that are accepted, what is served, what becomes of the objects when a definition goes
strategy      the rules of one version of a custom resource, made from its definition
pruning       unknown fields, nulls, defaults
types         the schema as a type that has field managers
validation    values against the schema, in the words of kube-openapi
rules         x-kubernetes-validations
json_path     paths of printer columns and selectable fields
"""
