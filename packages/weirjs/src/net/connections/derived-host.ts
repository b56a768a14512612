import type { ConnectionHost } from './connection-host.ts'

/** The same server with some `changes`. */
export function derivedHost(host: ConnectionHost, changes: Partial<Omit<ConnectionHost, 'isStopping'>>): ConnectionHost {
  return {
    limits: host.limits,
    timeouts: host.timeouts,
    ticker: host.ticker,
    application: host.application,
    observers: host.observers,
    tap: host.tap,
    debug: host.debug,
    proxies: host.proxies,
    basePath: host.basePath,
    hostRules: host.hostRules,
    endpointNames: () => host.endpointNames(),
    get isStopping() {
      return host.isStopping
    },
    report: (error, connection, exchange) => host.report(error, connection, exchange),
    reportAccept: (error) => host.reportAccept(error),
    waitUntil: (exchange, work) => host.waitUntil(exchange, work),
    forget: (connection) => host.forget(connection),
    ...changes,
  }
}
