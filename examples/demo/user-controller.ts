import { Controller, Route } from 'weirjs'

import { User } from './user.ts'

@Route('/user')
export class UserController extends Controller {
  /** Accepts a user as JSON or as a url-encoded form, and responds with the model. Any other text is returned unchanged. */
  @Route('POST', '/save', { body: 'buffer', summary: 'Populates a model from the body' })
  save() {
    const { request, response } = this
    const user = new User()
    if (request.bodyMap(user)) return { user } // a value that does not fit throws an error, which becomes a 400
    if (claimsJson(request.header('content-type'))) return response.status(400).text('The body is not a JSON object.')
    return request.bodyString
  }
}

function claimsJson(contentType: string | null): boolean {
  return contentType !== null && /^application\/json\b/i.test(contentType)
}
