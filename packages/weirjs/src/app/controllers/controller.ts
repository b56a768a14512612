// Controllers: classes whose methods handle routes. Each request has its own instance.

import { WeirError } from '../../base/errors.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

/** The request for which a controller is being created, so that constructors and field initializers can use it. */
let current: HttpSession | null = null

/**
 * Base class of controllers.
 * @example
 * ```ts
 * @Route('/user')
 * class Users extends Controller {
 *   @Route('GET', '/:id', { id: t.int })
 *   show({ id }: { id: number }) {
 *     return { id }
 *   }
 * }
 * server.mapController(Users)
 * ```
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export abstract class Controller {
  #session: HttpSession | null = current

  /** The exchange for which this instance was created. @throws WEIR_SERVER_STATE if it was not created for a request */
  get session(): HttpSession {
    if (this.#session === null) throw new WeirError('WEIR_SERVER_STATE', `${this.constructor.name} was not created for a request`)
    return this.#session
  }

  /** What the client sent. */
  get request(): HttpRequest {
    return this.session.request
  }

  /** The response. */
  get response(): HttpResponse {
    return this.session.response
  }

  /**
   * Creates an instance for one request.
   * @internal
   */
  static forSession<T extends Controller>(session: HttpSession, create: (session: HttpSession) => T): T {
    const before = current
    current = session
    try {
      const instance = create(session)
      if (instance.#session !== session) {
        if (instance.#session !== null)
          throw new WeirError('WEIR_SERVER_STATE', `options.create returned the same ${instance.constructor.name} for two requests`)
        instance.#session = session
      }
      return instance
    } finally {
      current = before
    }
  }
}

/** A controller class of which instances can be created, with the arguments of its constructor. */
// biome-ignore lint/suspicious/noExplicitAny: only `any` parameters make every constructor assignable; it is never called with such values
export type ControllerClass<T extends Controller = Controller> = new (...args: any[]) => T
