// The same controller without decorators: nothing here needs a compiler, `node plain.ts` runs it (Node 22.18 or newer).
import { Controller, HttpServer, routes, t } from 'weir'

class UserController extends Controller {
  static routes = routes(this, {
    prefix: '/user',
    save: ['POST', '/save'],
    show: ['GET', '/:id', { id: t.int, active: t.bool.default(false) }],
  })

  save() {
    return this.request.body
  }

  show({ id, active }: { id: number; active: boolean }) {
    return { id, active }
  }
}

const server = new HttpServer('127.0.0.1', 2015)
server.mapController(UserController, '/api')
server.mapGet('/hello/:name', ({ name }) => `Hello ${name}`)
await server.run({ signals: ['SIGTERM', 'SIGINT'] })
