import type { ConnectionHost } from '../net/connections/connection-host.ts'

/** The same server with some `changes`. */
export function derivedHost(host: ConnectionHost, changes: Partial<Omit<ConnectionHost, 'isStopping'>>): ConnectionHost {
  return {
    limits: host.limits,
    timeouts: host.timeouts,
    ticker: host.ticker,
    application: host.application,
    debug: host.debug,
    get isStopping() {
      return host.isStopping
    },
    report: (error, connection) => host.report(error, connection),
    reportAccept: (error) => host.reportAccept(error),
    forget: (connection) => host.forget(connection),
    ...changes,
  }
}
