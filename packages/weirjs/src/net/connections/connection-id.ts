// Ids of connections. They are unique enough among the processes of a machine to be told apart in logs.

const PREFIX = `${(process.pid % 46656).toString(36)}${(Date.now() % 2176782336).toString(36)}`
let connections = 0

/** The number of a new connection. */
export function nextConnection(): number {
  return ++connections
}

/** Created on demand: the ids of most connections are never used. */
export function connectionId(number: number): string {
  return `${PREFIX}-${number.toString(36)}`
}
