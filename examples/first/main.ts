import { Controller, HttpServer, Route, t } from 'weirjs'

@Route('/user')
class UserController extends Controller {
  @Route('GET', '/:id', { id: t.int, active: t.bool.default(false) })
  show({ id, active }: { id: number; active: boolean }) {
    return { id, active }
  }

  @Route('POST', '/save')
  save() {
    const user = { name: '', age: 0 }
    if (!this.request.bodyMapAnonymous(user))
      return this.response.status(400).text('Send a user as JSON.')
    return { user }
  }
}

const server = new HttpServer('127.0.0.1', 2015)
server.mapController(UserController, '/api')
server.mapGet('/hello/:name', ({ name }) => `Hello ${name}`)

await server.start()
console.log(`Try http://127.0.0.1:${server.port}/hello/world`)
await server.run({ signals: ['SIGTERM', 'SIGINT'] })
