// Which nodes of a graph are in the same cycle: its strongly connected components, by Tarjan's algorithm. Without recursion, because a document
// may have a chain of any length, and in linear time.

interface Step {
  readonly node: string
  readonly next: Iterator<string>
}

/** @returns by node: a number that it shares with exactly those nodes that it leads to and that lead to it */
export function cyclesIn(nodes: Iterable<string>, nextOf: (node: string) => Iterable<string>): ReadonlyMap<string, number> {
  const order = new Map<string, number>()
  /** The earliest node that is known to be in the same cycle. */
  const lowest = new Map<string, number>()
  const found = new Map<string, number>()
  const open: string[] = []
  const steps: Step[] = []
  const enter = (node: string): void => {
    lowest.set(node, order.size)
    order.set(node, order.size)
    open.push(node)
    steps.push({ node, next: nextOf(node)[Symbol.iterator]() })
  }
  const lower = (node: string, to: number): void => {
    if (to < lowest.get(node)!) lowest.set(node, to)
  }
  for (const start of nodes) {
    if (!order.has(start)) enter(start)
    for (let step = steps.at(-1); step !== undefined; step = steps.at(-1)) {
      const { node, next } = step
      const { done, value } = next.next()
      if (done !== true) {
        if (!order.has(value)) enter(value)
        else if (!found.has(value)) lower(node, order.get(value)!)
        continue
      }
      steps.pop()
      const low = lowest.get(node)!
      const before = steps.at(-1)
      if (before !== undefined) lower(before.node, low)
      if (low !== order.get(node)) continue
      for (let last = open.pop()!; ; last = open.pop()!) {
        found.set(last, low)
        if (last === node) break
      }
    }
  }
  return found
}
