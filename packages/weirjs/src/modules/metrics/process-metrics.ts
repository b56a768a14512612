// Measures the process: the delay of the event loop, memory, CPU time. The names are the usual ones.

import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { counter, family, gauge } from './exchange-metrics.ts'
import type { MetricFamily } from './metric-source.ts'

/** How often the event loop is sampled, in ms. Node adds this to every delay. */
const RESOLUTION_MS = 20
const NANOSECONDS = 1e-9
const QUANTILES = [0.5, 0.9, 0.99] as const

export class ProcessMetrics {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  readonly #startedAt = Date.now() / 1000 - process.uptime()

  start(): void {
    this.#delay.enable()
  }

  stop(): void {
    this.#delay.disable()
  }

  /** The present values. The delays are those since the last call. */
  *families(): Generator<MetricFamily> {
    const delay = this.#delay
    if (delay.count > 0) {
      yield family(
        'nodejs_eventloop_delay_seconds',
        'summary',
        'How late timers were since the last collection, by quantile.',
        QUANTILES.map((quantile) => ({ labels: { quantile: String(quantile) }, value: lateness(delay.percentile(quantile * 100)) })),
      )
      yield gauge('nodejs_eventloop_delay_max_seconds', 'The latest timer since the last collection.', lateness(delay.max))
      delay.reset()
    }
    const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage()
    yield gauge('process_resident_memory_bytes', 'Resident memory.', rss)
    yield gauge('nodejs_heap_size_total_bytes', 'Size of the JavaScript heap.', heapTotal)
    yield gauge('nodejs_heap_size_used_bytes', 'Used part of the JavaScript heap.', heapUsed)
    yield gauge('nodejs_external_memory_bytes', 'Memory of objects outside the JavaScript heap.', external)
    yield gauge('nodejs_array_buffers_bytes', 'Memory of buffers.', arrayBuffers)
    const { user, system } = process.cpuUsage()
    yield counter('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6)
    yield gauge('process_start_time_seconds', 'When the process was started, in seconds since 1970.', this.#startedAt)
  }
}

function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds * NANOSECONDS - RESOLUTION_MS / 1000)
}
