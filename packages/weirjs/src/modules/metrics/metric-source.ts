// How a module offers metrics of its own: an object with this function. `weirjs/metrics` asks all sources that it was given.

/** A value of a metric, with its labels. */
export interface MetricSample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
  /** For histograms and summaries: which value it is. */
  readonly suffix?: '_bucket' | '_sum' | '_count'
}

/** A metric, with all of its values. */
export interface MetricFamily {
  /** In the form `weir_limits_refused_total`: a counter ends in `_total`, and a unit is part of the name. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** A sentence. */
  readonly help: string
  readonly samples: readonly MetricSample[]
}

/** Something that has metrics. */
export interface MetricSource {
  /** Called whenever metrics are collected. It should only read numbers. */
  metrics(): Iterable<MetricFamily>
}
