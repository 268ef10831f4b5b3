"""Server-side apply: who owns which field, and what an applied configuration does to an object.

    fieldset    sets of fields, in the JSON form in which objects carry them
    typed       values read with their types: field sets, comparison, merge, removal
    managed     metadata.managedFields: reading, writing, the order of its entries
    updater     ownership: what an update or an apply changes in the sets of all managers, conflicts
    manager     the whole way of one request: FieldManager.update and FieldManager.apply
    scale       managedFields of the scale subresource

Mirrors: sigs.k8s.io/structured-merge-diff/v6, staging/src/k8s.io/apimachinery/pkg/util/managedfields (v1.36)
"""
