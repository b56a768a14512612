// Finds the sockets that the parent process has opened.

import { WeirError } from '../../base/errors.ts'

interface InheritedSocket {
  readonly fd: number
  /** Absent if the parent has not named it. */
  readonly name?: string
}

/** The number of the first inherited descriptor (sd_listen_fds(3)). */
const FIRST = 3
const VARIABLES = ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID'] as const

/**
 * Reads which sockets systemd, or another parent that uses its protocol, has passed in `LISTEN_FDS`, `LISTEN_PID` and `LISTEN_FDNAMES`, and
 * removes these variables, so that no child process mistakes them for its own.
 * @throws WEIR_OPTION_INVALID if there are none for this process
 */
export function takeInherited(environment: NodeJS.ProcessEnv = process.env, pid: number = process.pid): readonly InheritedSocket[] {
  const { LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES } = environment
  if (LISTEN_FDS === undefined || LISTEN_PID === undefined)
    throw invalid(
      'no socket was passed to this process, or another server has taken it: LISTEN_FDS and LISTEN_PID are not set. Start it with systemd or weir dev --listen, or set "port"',
    )
  if (Number(LISTEN_PID) !== pid)
    throw invalid(
      `the sockets were passed to process ${LISTEN_PID}, and this is ${pid}: start node itself, not a shell or npm that starts it`,
    )
  const count = /^\d{1,4}$/.test(LISTEN_FDS) ? Number(LISTEN_FDS) : 0
  if (count === 0) throw invalid(`LISTEN_FDS is ${JSON.stringify(LISTEN_FDS)}, not a number of sockets`)
  const names = LISTEN_FDNAMES?.split(':') ?? []
  if (LISTEN_FDNAMES !== undefined && names.length !== count)
    throw invalid(`LISTEN_FDNAMES has ${names.length} names for ${count} sockets: ${LISTEN_FDNAMES}. Name each of them, or none`)
  for (const name of VARIABLES) delete environment[name]
  return Array.from({ length: count }, (_, i) => (names[i] ? { fd: FIRST + i, name: names[i] } : { fd: FIRST + i }))
}

function invalid(detail: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', detail)
}
