import { Controller, HttpServer, Route, t } from 'weir'

@Route('/user')
class UserController extends Controller {
  @Route('POST', '/save')
  save() {
    return this.request.body
  }

  @Route('GET', '/:id', { id: t.int, active: t.bool.default(false) })
  show({ id, active }: { id: number; active: boolean }) {
    return { id, active }
  }
}

void UserController
const server = new HttpServer('127.0.0.1', 2015)
server.mapControllers(Controller, '/api')
server.mapGet('/hello/:name', ({ name }) => `Hello ${name}`)
await server.run({ signals: ['SIGTERM', 'SIGINT'] })
