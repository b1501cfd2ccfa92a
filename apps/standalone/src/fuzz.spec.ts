import { describeFuzz } from './test/fuzz.behaviour';
import { startWholeDoor } from './test/whole-door';

describeFuzz('in one process', startWholeDoor);
