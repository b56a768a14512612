// The options of `stop`, which programs call on a server, and handlers and modules on their `ServerHandle`.

import type { Duration } from '../base/duration.ts'

/**
 * @example
 * const options: StopOptions = { grace: '30s', readyDelay: '5s' }
 * await server.stop(options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/lifecycle.md
 */
export interface StopOptions {
  /** How long requests in flight may take to finish. Default 10 s. */
  readonly grace?: Duration
  /**
   * How long the stop is delayed after `isReady` has become false, so that a load balancer notices. Connections are accepted in that time.
   * Default 0.
   */
  readonly readyDelay?: Duration
  /** @deprecated another name of `grace` */
  readonly graceMs?: Duration
  /** @deprecated another name of `readyDelay` */
  readonly readyDelayMs?: Duration
}
