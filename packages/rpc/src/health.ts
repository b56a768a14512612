// The health checking protocol of gRPC (grpc.health.v1): whether the server, and each of its services, takes calls.

import type { DescService } from '@bufbuild/protobuf'
import type { Duration, ServerHandle } from 'weirjs'
import { option, rules } from 'weirjs/kit'

import type { RpcCall } from './call.ts'
import type { RpcImplementation } from './implementation.ts'
import { type Health, type HealthCheckResponse, HealthCheckResponse_ServingStatus as Status } from './proto/grpc/health/v1/health_pb.ts'
import { RpcError } from './rpc-error.ts'

export interface HealthOptions {
  /** The services that clients may ask about, beside the server as a whole, whose name is empty. Default: none. */
  readonly services?: readonly DescService[]
  /** Whether a service takes calls; the name of the server as a whole is empty. Default: `true`. Nothing takes calls while `stop` waits. */
  readonly isServing?: (service: string) => boolean
  /** How often `Watch` asks `isServing`. Default 1 s. */
  readonly interval?: Duration
}

/** @internal */
export const RPC_HEALTH_RULES = rules<HealthOptions>('health()')({
  services: option.list<DescService>().or([]),
  isServing: option.func({ decides: true }).optional(),
  interval: option.duration({ least: 1 }).or('1s'),
})

/** The implementation of `Health`, for `mapService`. @throws WEIR_OPTION_INVALID */
export function health(server: ServerHandle, options: HealthOptions = {}): RpcImplementation<typeof Health> {
  const { services, isServing = () => true, interval } = RPC_HEALTH_RULES.read(options)
  const names = ['', ...services.map(({ typeName }) => typeName)]

  const statusOf = (service: string): Status => {
    if (!names.includes(service)) return Status.SERVICE_UNKNOWN
    return server.isReady && !server.stopping.aborted && isServing(service) ? Status.SERVING : Status.NOT_SERVING
  }

  return {
    check({ service }) {
      const status = statusOf(service)
      if (status === Status.SERVICE_UNKNOWN) throw new RpcError('not_found', `there is no service ${service}`)
      return { status }
    },
    list: () => ({ statuses: Object.fromEntries(names.map((name) => [name, { status: statusOf(name) } as HealthCheckResponse])) }),
    async *watch({ service }, call) {
      let last: Status | null = null
      while (!call.signal.aborted) {
        const status = statusOf(service)
        if (status !== last) yield { status }
        if (server.stopping.aborted) return // clients connect elsewhere
        last = status
        await pause(interval, [call.signal, server.stopping])
      }
    },
  }
}

/** Keeps no process alive. */
function pause(ms: number, until: readonly RpcCall['signal'][]): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms).unref()
    function done(): void {
      clearTimeout(timer)
      for (const signal of until) signal.removeEventListener('abort', done)
      resolve()
    }
    for (const signal of until) signal.addEventListener('abort', done, { once: true })
  })
}
