"""One file per way of finding identifiers; each is a :data:`deid_runtime.spans.Detector` or close to it."""
