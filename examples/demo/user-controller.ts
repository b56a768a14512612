import { Controller, Route } from 'weir'

@Route('/user')
export class UserController extends Controller {
  /** Answers with the text that it was sent. The body is read here, because nothing parses it before a handler asks. */
  @Route('POST', '/save')
  save() {
    return this.request.bodyString
  }
}
