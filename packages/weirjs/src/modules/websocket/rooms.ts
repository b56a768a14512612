// The members of rooms. A room exists from its first member to its last.

const NOBODY: ReadonlySet<never> = new Set()

export class Rooms<Member> {
  readonly #members = new Map<string, Set<Member>>()

  join(room: string, member: Member): void {
    const members = this.#members.get(room)
    if (members === undefined) this.#members.set(room, new Set([member]))
    else members.add(member)
  }

  leave(room: string, member: Member): void {
    const members = this.#members.get(room)
    if (members?.delete(member) && members.size === 0) this.#members.delete(room)
  }

  membersOf(room: string): ReadonlySet<Member> {
    return this.#members.get(room) ?? NOBODY
  }
}
