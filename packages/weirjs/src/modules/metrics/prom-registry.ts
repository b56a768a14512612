// The metrics of a registry of prom-client, in the form of this module.

import type { MetricFamily, MetricSample } from './metric-source.ts'

/** A registry of prom-client, or anything else with this function. */
export interface PromRegistry {
  getMetricsAsJSON(): Promise<readonly object[]>
}

/** What prom-client returns for a metric. */
interface PromMetric {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly PromValue[]
}

interface PromValue {
  readonly value: number
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
}

const TYPES: readonly string[] = ['counter', 'gauge', 'histogram', 'summary'] satisfies MetricFamily['type'][]

export async function familiesOf(registry: PromRegistry): Promise<MetricFamily[]> {
  const metrics = (await registry.getMetricsAsJSON()) as readonly PromMetric[]
  return metrics
    .filter(({ type }) => TYPES.includes(type))
    .map(({ name, help, type, values }) => ({
      name,
      help,
      type: type as MetricFamily['type'],
      samples: values.map((value) => sampleOf(name, value)),
    }))
}

function sampleOf(name: string, { value, metricName = name, labels }: PromValue): MetricSample {
  const texts = Object.fromEntries(Object.entries(labels).map(([label, text]) => [label, String(text)]))
  const suffix = metricName.slice(name.length)
  return suffix === '_bucket' || suffix === '_sum' || suffix === '_count' ? { labels: texts, value, suffix } : { labels: texts, value }
}
