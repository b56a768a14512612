// The command that runs a program, as far as links with a token are concerned: `weir dev` makes one token for all runs, so that a page that is
// open stays signed in over restarts, and prints the links itself.

export interface LaunchHost {
  /** For everything in this process that needs one. */
  readonly token: string
  /** Prints a link. */
  tell(name: string, link: string): void
}

let current: LaunchHost | null = null

/** Null if the program was started by itself. */
export function launchHost(): LaunchHost | null {
  return current
}

export function setLaunchHost(host: LaunchHost): void {
  current = host
}
