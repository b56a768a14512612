// Controllers: classes whose methods answer routes. One instance a request.

import { WeirError } from '../../base/errors.ts'
import type { HttpResponse } from '../../http/answer/response.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { HttpSession } from '../../http/session.ts'

/** The request that a controller is being made for, so that constructors and field initializers see it. */
let current: HttpSession | null = null

/** Base class of controllers. */
export abstract class Controller {
  #session: HttpSession | null = current

  /** The exchange that this instance was made for. @throws WEIR_SERVER_STATE when it was made for none */
  get session(): HttpSession {
    if (this.#session === null) throw new WeirError('WEIR_SERVER_STATE', `${this.constructor.name} was not made for a request`)
    return this.#session
  }

  /** What the client sent. */
  get request(): HttpRequest {
    return this.session.request
  }

  /** The answer. */
  get response(): HttpResponse {
    return this.session.response
  }

  /**
   * Makes an instance for one request.
   * @internal
   */
  static forSession<T extends Controller>(session: HttpSession, create: (session: HttpSession) => T): T {
    const before = current
    current = session
    try {
      const instance = create(session)
      if (instance.#session !== session) {
        if (instance.#session !== null)
          throw new WeirError('WEIR_SERVER_STATE', `options.create gave one ${instance.constructor.name} to two requests`)
        instance.#session = session
      }
      return instance
    } finally {
      current = before
    }
  }
}

/** A class of controllers that can be made, given what its constructor wants. */
// biome-ignore lint/suspicious/noExplicitAny: only `any` parameters make every constructor assignable; nothing is ever called with them
export type ControllerClass<T extends Controller = Controller> = new (...args: any[]) => T
