import { Field, t } from 'weir'

/** The model that `/user/save` fills. What a property takes is told by the value that it starts with, or by its `@Field`. */
export class User {
  @Field(t.uuid) id = ''
  name = ''
  creation = new Date(0)
  enabled = false
}
