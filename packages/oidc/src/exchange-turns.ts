// Bounds how many codes are exchanged at the provider at once. Each takes a connection to it for as long as it takes to answer, and anyone who has
// begun a login can bring back a wrong code, a hundred times on one connection.

import { type HttpSession, WeirError } from 'weirjs'
import { exchange, FairQueue, networkOf } from 'weirjs/kit'

const MOST_AT_ONCE = 16

export class ExchangeTurns {
  readonly #waiting = new FairQueue<() => void>()
  #running = 0

  /** Clients take turns, so that none waits for all codes of another. @throws (rejects) WEIR_CLIENT_GONE if the client leaves before its turn */
  async inTurn<T>(session: HttpSession, work: () => Promise<T>): Promise<T> {
    if (this.#running < MOST_AT_ONCE) this.#running++
    else await this.#turnOf(session)
    try {
      return await work()
    } finally {
      const next = this.#waiting.next()
      if (next === null) this.#running--
      else next()
    }
  }

  #turnOf(session: HttpSession): Promise<void> {
    const handle = exchange(session)
    const client = networkOf(handle.clientAddress)
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        handle.onAbort(() => {})
        resolve()
      }
      this.#waiting.add(client, begin)
      handle.onAbort(() => {
        this.#waiting.delete(client, begin)
        reject(new WeirError('WEIR_CLIENT_GONE'))
      })
    })
  }
}
