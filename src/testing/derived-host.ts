import type { PeerHost } from '../net/connection-host.ts'

/** The same server, but for `changes`. */
export function derivedHost(host: PeerHost, changes: Partial<Omit<PeerHost, 'isStopping'>>): PeerHost {
  return {
    limits: host.limits,
    timeouts: host.timeouts,
    ticker: host.ticker,
    application: host.application,
    debug: host.debug,
    get isStopping() {
      return host.isStopping
    },
    report: (error, peer) => host.report(error, peer),
    reportAccept: (error) => host.reportAccept(error),
    forget: (peer) => host.forget(peer),
    ...changes,
  }
}
