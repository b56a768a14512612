// The CPU time of a server: of its process, the ones that it forked, and all their threads. The board reads the same from the cgroup.
import { readdirSync, readFileSync } from 'node:fs'

/** The seconds that each process of the tree has used, by process id; the first is the root. @param {number} root @returns {Map<number, number>} */
export function cpuOf(root) {
  const seconds = new Map()
  const visit = (pid) => {
    let nanoseconds = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      try {
        nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0])
        for (const child of childrenOf(pid, thread)) visit(child)
      } catch {} // the thread has ended since the directory was read
    }
    seconds.set(pid, nanoseconds / 1e9)
  }
  visit(root)
  return seconds
}

const childrenOf = (pid, thread) =>
  readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
    .split(' ')
    .filter((text) => text !== '')
    .map(Number)

export const totalOf = (seconds) => [...seconds.values()].reduce((sum, one) => sum + one, 0)
