// The application of a simulation: the real one, with a route for each kind of handler.

import type { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { Dispatcher } from '../../src/app/dispatch.ts'
import { checkPolicy, type Policy, type Usable } from '../../src/app/policies/policy.ts'
import { Route } from '../../src/app/routes/route.ts'
import { RouteTable } from '../../src/app/routes/route-table.ts'
import type { Limits, Timeouts } from '../../src/base/limits.ts'
import type { Application } from '../../src/http/application.ts'
import type { HttpSession } from '../../src/http/session.ts'
import { HttpServer } from '../../src/server.ts'

import { type Stage, TEMPERS } from './simulated-handlers.ts'

/** With `debug`, this has loaded what shows errors: in a simulation nothing waits for files. */
await new HttpServer({ debug: true, logger: null }).inject('/')

/** @param hear called with the errors that are logged */
export function simulatedApplication(
  random: SeededRandom,
  stage: Stage,
  limits: Limits,
  timeouts: Timeouts,
  debug: boolean,
  hear: (error: unknown) => void,
): Application {
  const name = (session: HttpSession): void => {
    session.response.header('X-N', session.request.path.split('/').at(-1)!)
  }
  const routes = routesOn(stage)
  const dispatcher = new Dispatcher({
    hostsAt: () => null,
    server: {
      address: '',
      port: 0,
      connections: 0,
      isListening: true,
      isReady: true,
      stopping: AbortSignal.any([]),
      frontEnds: [],
      basePath: '',
      stop: () => Promise.resolve(),
    },
    routes,
    limits,
    timeouts,
    jsonEngine: null,
    invalidBodyStatus: 400,
    onError: (_error, session) => name(session),
    logger: { error: (_message, error) => hear(error), warn: () => {} }, // some handlers return nothing, which a GET is warned about
    debug,
  })
  const use = (usable: Usable): boolean => routes.root.use(checkPolicy('use()', usable))
  if (random.chance(0.3)) use(async (_, next) => void (await next()))
  if (random.chance(0.1)) use({ gate: () => stage.pause() })
  use({ gate: () => {}, beforeSend: (session) => name(session) })
  routes.recompose()
  return dispatcher
}

/** The routes of one run. */
function routesOn(stage: Stage): RouteTable {
  const routes = new RouteTable()
  for (const [name, { method, streams, gate, handle }] of Object.entries(TEMPERS)) {
    const use: Policy[] = gate === undefined ? [] : [{ gate: (session) => gate(stage, numberOf(session), session) }]
    const declaration = { use, ...(streams === true ? { body: 'stream' } : {}) }
    routes.add(new Route(routes.root, method, `/${name}/:n`, declaration, (_, session) => handle(stage, numberOf(session), session)))
  }
  return routes
}

function numberOf(session: HttpSession): number {
  return Number(session.request.path.split('/').at(-1))
}
