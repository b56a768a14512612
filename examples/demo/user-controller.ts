import { Controller, Route } from 'weir'

import { User } from './user.ts'

@Route('/user')
export class UserController extends Controller {
  /** Takes a user as JSON or as a url-encoded form, and answers with the model; any other text comes back as it is. */
  @Route('POST', '/save')
  save() {
    const { request, response } = this
    const user = new User()
    if (request.bodyMap(user)) return { user } // a value that does not fit throws, and that answers 400
    if (claimsJson(request.header('content-type'))) return response.status(400).text('The body is not a JSON object.')
    return request.bodyString
  }
}

function claimsJson(contentType: string | null): boolean {
  return contentType !== null && /^application\/json\b/i.test(contentType)
}
