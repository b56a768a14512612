// The health checking protocol of gRPC (grpc.health.v1): whether the server, and each of its services, takes calls.

import type { DescService } from '@bufbuild/protobuf'
import type { Duration, HttpSession, ServerHandle } from 'weirjs'
import { FairQueue, networkOf, onStop, option, rules, systemClock } from 'weirjs/kit'

import type { RpcCall } from './call.ts'
import type { RpcImplementation } from './implementation.ts'
import { type Health, type HealthCheckResponse, HealthCheckResponse_ServingStatus as Status } from './proto/grpc/health/v1/health_pb.ts'
import { RpcError } from './rpc-error.ts'

export interface HealthOptions {
  /** The services that clients may ask about, in addition to the server as a whole, whose name is empty. Default: none. */
  readonly services?: readonly DescService[]
  /** Whether a service accepts calls; the name of the server as a whole is empty. Default: `true`. While `stop` waits, nothing accepts calls. */
  readonly isServing?: (service: string) => boolean
  /** How often `isServing` is asked for all streams of `Watch` together. Default 1 s. */
  readonly interval?: Duration
}

/** @internal */
export const RPC_HEALTH_RULES = rules<HealthOptions>('health()')({
  services: option.list<DescService>().or([]),
  isServing: option.func({ decides: true }).optional(),
  interval: option.duration({ least: 1 }).or('1s'),
})

/** Streams of `Watch` that are told of a change in one turn of the event loop. Each takes about 40 µs. */
const STREAMS_PER_TURN = 128
const turns = FairQueue.turns(STREAMS_PER_TURN)

/** No service has this name. */
const UNKNOWN = '?'

/** The implementation of `Health`, for `mapService`. @throws WEIR_OPTION_INVALID */
export function health(server: ServerHandle, options: HealthOptions = {}): RpcImplementation<typeof Health> {
  const { services, isServing = () => true, interval } = RPC_HEALTH_RULES.read(options)
  const names = ['', ...services.map(({ typeName }) => typeName)]

  const statusOf = (service: string): Status => {
    if (!names.includes(service)) return Status.SERVICE_UNKNOWN
    return server.isReady && !server.stopping.aborted && isServing(service) ? Status.SERVING : Status.NOT_SERVING
  }
  const watchers = new Watchers(statusOf, interval)

  async function* watch(service: string, { signal, session }: RpcCall): AsyncGenerator<{ status: Status }> {
    let last: Status | null = null
    while (!signal.aborted) {
      const status = statusOf(service)
      if (status !== last) yield { status }
      if (server.stopping.aborted) return // clients connect elsewhere
      last = status
      await watchers.change(service, status, signal, server.stopping, session)
    }
  }

  return {
    check({ service }) {
      const status = statusOf(service)
      if (status === Status.SERVICE_UNKNOWN) throw new RpcError('not_found', `there is no service ${service}`)
      return { status }
    },
    list: () => ({ statuses: Object.fromEntries(names.map((name) => [name, { status: statusOf(name) } as HealthCheckResponse])) }),
    // A stream keeps no name that a client has chosen: the name may have megabytes, and be sent compressed in some kilobytes.
    watch: ({ service }, call) => watch(names.includes(service) ? service : UNKNOWN, call),
  }
}

/** A stream that waits. */
interface Watcher {
  readonly service: string
  readonly last: Status
  readonly session: HttpSession
  wake(): void
}

/**
 * One timer and one listener for all streams of `Watch`. If each stream had its own, a stop would walk through all listeners in one turn of the
 * event loop, and clients decide how many there are.
 */
class Watchers {
  readonly #statusOf: (service: string) => Status
  readonly #intervalMs: number
  readonly #waiting = new Set<Watcher>()
  #end: (() => void) | null = null

  constructor(statusOf: (service: string) => Status, intervalMs: number) {
    this.#statusOf = statusOf
    this.#intervalMs = intervalMs
  }

  /** Resolves when the status is no longer `last`, or when one of the signals has aborted. */
  change(service: string, last: Status, signal: AbortSignal, stopping: AbortSignal, session: HttpSession): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        this.#leave(watcher)
        resolve()
      }
      const watcher: Watcher = { service, last, session, wake }
      signal.addEventListener('abort', wake, { once: true })
      this.#waiting.add(watcher)
      this.#end ??= this.#begin(stopping)
    })
  }

  /** @param stopping has not aborted */
  #begin(stopping: AbortSignal): () => void {
    const stopTimer = systemClock.every(this.#intervalMs, () => this.#look())
    const forget = onStop(stopping, () => this.#wake(() => true))
    return () => {
      stopTimer()
      forget()
    }
  }

  #leave(watcher: Watcher): void {
    this.#waiting.delete(watcher)
    if (this.#waiting.size > 0) return
    this.#end?.()
    this.#end = null
  }

  /** Asks once for each service. If that throws, the stream asks again and fails with the error. */
  #look(): void {
    const now = new Map<string, Status | null>()
    this.#wake(({ service, last }) => {
      if (last === Status.SERVICE_UNKNOWN) return false // for ever
      let status = now.get(service)
      if (status === undefined) now.set(service, (status = this.#statusNow(service)))
      return status !== last
    })
  }

  #statusNow(service: string): Status | null {
    try {
      return this.#statusOf(service)
    } catch {
      return null
    }
  }

  #wake(isDue: (watcher: Watcher) => boolean): void {
    for (const one of [...this.#waiting]) {
      if (!isDue(one)) continue
      this.#leave(one)
      turns.run(networkOf(one.session.clientAddress), () => {
        turns.spend(1)
        one.wake()
      })
    }
  }
}
