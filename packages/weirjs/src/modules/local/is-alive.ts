// Whether a process of this user runs.

/** False for a process of another user: it has the number of one that has ended. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
