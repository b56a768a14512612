// State machines as tables, which list for each state the states that may follow.

/** The table as bits: state `to` may follow `from` if bit `to` of number `from` is set. */
export function masksOf(moves: readonly (readonly number[])[]): readonly number[] {
  return moves.map((following) => following.reduce((mask, to) => mask | (1 << to), 0))
}

/** A move that is not in the table is a bug in weir. @param machine such as `life` @param names of its states */
export function illegalMove(machine: string, names: readonly string[], from: number, to: number): Error {
  return new Error(`weir: ${machine} cannot move from ${names[from]} to ${names[to]}`)
}
