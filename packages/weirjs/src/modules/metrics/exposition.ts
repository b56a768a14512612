// Metrics as text: the format of Prometheus (0.0.4) and OpenMetrics 1.0.

import { qualityOf } from '../../formats/accept.ts'

import type { MetricFamily, MetricSample } from './metric-source.ts'

export type TextFormat = 'prometheus' | 'openmetrics'

export const CONTENT_TYPES: Readonly<Record<TextFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}
const OPENMETRICS = 'application/openmetrics-text'
const TOTAL = '_total'
/** The units that OpenMetrics states in a line of their own, if the name ends in them. */
const UNITS: readonly string[] = ['seconds', 'bytes', 'ratio']

/** OpenMetrics for clients that name it and do not prefer `text/plain`; the older format for all others. */
export function formatFor(accept: string | null): TextFormat {
  if (accept === null || !accept.toLowerCase().includes(OPENMETRICS)) return 'prometheus'
  // Only this version of the format is sent.
  const known = accept
    .split(',')
    .filter((range) => !range.toLowerCase().includes(OPENMETRICS) || !/;\s*version=(?!"?1\.0\.0"?\s*(?:;|$))/i.test(range))
    .join(',')
  const quality = known.toLowerCase().includes(OPENMETRICS) ? qualityOf(known, OPENMETRICS) : 0
  return quality > 0 && quality >= qualityOf(known, 'text/plain') ? 'openmetrics' : 'prometheus'
}

/** Samples that are written before other work has its turn: 2,000 series have 30,000, which take more than a tenth of a second. */
const SAMPLES_IN_A_ROW = 2_000

/** @param families with different names, which have been checked */
export async function exposition(families: Iterable<MetricFamily>, format: TextFormat): Promise<string> {
  let text = ''
  let written = 0
  for (const family of families) {
    const [head, line] = format === 'openmetrics' ? openMetrics(family) : prometheus(family)
    text += head
    for (const sample of family.samples) {
      text += line(sample)
      if (++written % SAMPLES_IN_A_ROW === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return format === 'openmetrics' ? `${text}# EOF\n` : text
}

type Written = readonly [head: string, line: (sample: MetricSample) => string]

function prometheus({ name, type, help }: MetricFamily): Written {
  return [
    `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`,
    ({ labels, value, suffix = '' }) => `${name}${suffix}${labelsText(labels, false)} ${numberText(value)}\n`,
  ]
}

/** The name of a counter is without `_total`, which its samples have. */
function openMetrics({ name, type, help }: MetricFamily): Written {
  const isCounter = type === 'counter'
  const base = isCounter && name.endsWith(TOTAL) ? name.slice(0, -TOTAL.length) : name
  const unit = UNITS.find((one) => base.endsWith(`_${one}`))
  return [
    `# TYPE ${base} ${type}\n${unit === undefined ? '' : `# UNIT ${base} ${unit}\n`}# HELP ${base} ${escaped(help)}\n`,
    ({ labels, value, suffix = isCounter ? TOTAL : '' }) => `${base}${suffix}${labelsText(labels, true)} ${numberText(value)}\n`,
  ]
}

/** Bounds of histograms and quantiles are fractions in OpenMetrics: `1.0`. */
function labelsText(labels: Readonly<Record<string, string>> | undefined, withFractions: boolean): string {
  if (labels === undefined) return ''
  let text = ''
  for (const [name, value] of Object.entries(labels)) {
    const isNumber = withFractions && (name === 'le' || name === 'quantile') && /^\d+$/.test(value)
    text += `${text === '' ? '' : ','}${name}="${isNumber ? `${value}.0` : escaped(value)}"`
  }
  return text === '' ? '' : `{${text}}`
}

function escaped(text: string): string {
  return /[\\"\n]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : text
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}
