"""De-identify tables of notes on many machines: Apache Spark and Ray Data, with the pipeline of `deid run`."""
