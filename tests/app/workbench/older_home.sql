BEGIN TRANSACTION;
CREATE TABLE activation (
	id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	version_id INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	reverted DATETIME, 
	CONSTRAINT pk_activation PRIMARY KEY (id), 
	CONSTRAINT fk_activation_version_id FOREIGN KEY(version_id) REFERENCES model_version (id) ON DELETE CASCADE
);
INSERT INTO "activation" VALUES(1,'cascade',3,'to try it','2026-11-30 02:37:03.693352',NULL);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0004');
CREATE TABLE annotator (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	imported BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, role TEXT DEFAULT 'annotator' NOT NULL, subject TEXT, 
	CONSTRAINT pk_annotator PRIMARY KEY (id), 
	CONSTRAINT uq_annotator_name UNIQUE (name)
);
INSERT INTO "annotator" VALUES(1,'starter',1,'2026-11-30 01:51:32.719955','annotator',NULL);
INSERT INTO "annotator" VALUES(2,'ann',0,'2026-11-30 01:51:47.249724','admin',NULL);
INSERT INTO "annotator" VALUES(3,'bob',0,'2026-11-30 01:51:47.260857','annotator',NULL);
INSERT INTO "annotator" VALUES(4,'cat',0,'2026-11-30 01:58:12.504140','annotator',NULL);
CREATE TABLE candidate (
	id INTEGER NOT NULL, 
	question_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	run_id INTEGER, 
	ordinal INTEGER NOT NULL, 
	retrieval_rank INTEGER, 
	origin TEXT NOT NULL, 
	external_id TEXT, 
	cut_layer INTEGER, 
	cut_rank INTEGER, 
	cut_kept INTEGER, 
	cut_margin DOUBLE, 
	CONSTRAINT pk_candidate PRIMARY KEY (id), 
	CONSTRAINT fk_candidate_question_id FOREIGN KEY(question_id) REFERENCES question (id) ON DELETE CASCADE, 
	CONSTRAINT fk_candidate_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE SET NULL, 
	CONSTRAINT fk_candidate_sentence_id FOREIGN KEY(sentence_id) REFERENCES sentence (id) ON DELETE CASCADE, 
	CONSTRAINT uq_candidate_question_id_sentence_id UNIQUE (question_id, sentence_id)
);
INSERT INTO "candidate" VALUES(17310,257,1558,NULL,0,6,'retrieved',NULL,2,18,19,0.072998046875);
INSERT INTO "candidate" VALUES(17311,257,1559,NULL,1,7,'retrieved',NULL,2,21,19,1.696834564208984375e-01);
INSERT INTO "candidate" VALUES(17312,257,1560,NULL,2,8,'retrieved',NULL,5,7,7,1.51882648468017578125e-01);
INSERT INTO "candidate" VALUES(17313,257,1561,NULL,3,9,'retrieved',NULL,5,1,7,2.70020627975463867187e+00);
INSERT INTO "candidate" VALUES(17314,257,1562,NULL,4,1,'retrieved',NULL,3,15,14,4.129886627197265625e-03);
INSERT INTO "candidate" VALUES(17315,257,1563,NULL,5,2,'retrieved',NULL,5,8,7,1.51882648468017578125e-01);
INSERT INTO "candidate" VALUES(17316,257,1564,NULL,6,3,'retrieved',NULL,5,3,7,1.09164857864379882812e+00);
INSERT INTO "candidate" VALUES(17317,257,1565,NULL,7,4,'retrieved',NULL,3,14,14,4.129886627197265625e-03);
INSERT INTO "candidate" VALUES(17318,257,1566,NULL,8,5,'retrieved',NULL,5,5,7,0.752112865447998);
INSERT INTO "candidate" VALUES(17319,257,1567,NULL,9,10,'retrieved',NULL,4,9,10,2.0575714111328125e-01);
INSERT INTO "candidate" VALUES(17320,257,1568,NULL,10,11,'retrieved',NULL,4,11,10,1.5364837646484375e-01);
INSERT INTO "candidate" VALUES(17321,257,1544,NULL,11,12,'retrieved',NULL,5,4,7,1.03156137466430664062e+00);
INSERT INTO "candidate" VALUES(17322,257,1545,NULL,12,13,'retrieved',NULL,5,2,7,2.28403043746948242187e+00);
INSERT INTO "candidate" VALUES(17323,258,1546,NULL,0,1,'retrieved',NULL,4,13,10,2.93954372406005859375e-01);
INSERT INTO "candidate" VALUES(17324,258,1547,NULL,1,2,'retrieved',NULL,4,12,10,2.70410060882568359375e-01);
INSERT INTO "candidate" VALUES(17325,258,1548,NULL,2,3,'retrieved',NULL,5,1,7,3.418857574462890625e+00);
INSERT INTO "candidate" VALUES(17326,258,1549,NULL,3,4,'retrieved',NULL,5,3,7,1.10226726531982421875e+00);
INSERT INTO "candidate" VALUES(17327,258,1550,NULL,4,5,'retrieved',NULL,4,8,10,3.65890979766845703125e-01);
INSERT INTO "candidate" VALUES(17328,258,1551,NULL,5,6,'retrieved',NULL,4,11,10,1.92257404327392578125e-01);
INSERT INTO "candidate" VALUES(17329,259,1552,NULL,0,1,'retrieved',NULL,2,23,19,3.71140003204345703125e-01);
INSERT INTO "candidate" VALUES(17330,259,1553,NULL,1,2,'retrieved',NULL,4,6,10,2.6209926605224609375e-01);
INSERT INTO "candidate" VALUES(17331,259,1554,NULL,2,3,'retrieved',NULL,5,1,7,4.68773126602172851562e+00);
INSERT INTO "candidate" VALUES(17332,259,1555,NULL,3,4,'retrieved',NULL,3,17,14,5.39032459259033203125e-01);
INSERT INTO "candidate" VALUES(17333,259,1556,NULL,4,5,'retrieved',NULL,5,5,7,3.32519054412841796875e-01);
INSERT INTO "candidate" VALUES(17334,259,1557,NULL,5,6,'retrieved',NULL,3,18,14,5.58367252349853515625e-01);
INSERT INTO "candidate" VALUES(17335,259,1558,NULL,6,14,'retrieved',NULL,3,13,14,1.54589176177978515625e-01);
INSERT INTO "candidate" VALUES(17336,259,1559,NULL,7,15,'retrieved',NULL,4,9,10,1.5471363067626953125e-01);
INSERT INTO "candidate" VALUES(17337,259,1560,NULL,8,16,'retrieved',NULL,5,7,7,2.09015369415283203125e-01);
INSERT INTO "candidate" VALUES(17338,259,1561,NULL,9,17,'retrieved',NULL,4,11,10,1.01596832275390625e-01);
INSERT INTO "candidate" VALUES(17339,259,1562,NULL,10,10,'retrieved',NULL,2,20,19,4.496097564697265625e-03);
INSERT INTO "candidate" VALUES(17340,259,1563,NULL,11,11,'retrieved',NULL,3,16,14,1.43260478973388671875e-01);
INSERT INTO "candidate" VALUES(17341,259,1564,NULL,12,12,'retrieved',NULL,2,17,19,2.12462902069091796875e-01);
INSERT INTO "candidate" VALUES(17342,259,1565,NULL,13,13,'retrieved',NULL,4,10,10,1.01596832275390625e-01);
INSERT INTO "candidate" VALUES(17343,259,1566,NULL,14,7,'retrieved',NULL,5,3,7,5.81369876861572265625e-01);
INSERT INTO "candidate" VALUES(17344,259,1567,NULL,15,8,'retrieved',NULL,2,4,19,1.81692075729370117187e+00);
INSERT INTO "candidate" VALUES(17345,259,1568,NULL,16,9,'retrieved',NULL,4,13,10,2.461948394775390625e-01);
INSERT INTO "candidate" VALUES(17346,260,1542,NULL,0,1,'retrieved',NULL,3,1,7,3.42421865463256835937e+00);
INSERT INTO "candidate" VALUES(17347,260,1543,NULL,1,2,'retrieved',NULL,3,2,7,2.56419420242309570312e+00);
INSERT INTO "candidate" VALUES(17348,260,1558,NULL,2,3,'retrieved',NULL,4,5,5,5.10703563690185546875e-01);
INSERT INTO "candidate" VALUES(17349,260,1559,NULL,3,4,'retrieved',NULL,3,7,7,5.7390689849853515625e-02);
INSERT INTO "candidate" VALUES(17350,260,1560,NULL,4,5,'retrieved',NULL,2,12,10,3.38473796844482421875e-01);
INSERT INTO "candidate" VALUES(17351,260,1561,NULL,5,6,'retrieved',NULL,2,13,10,4.35164928436279296875e-01);
INSERT INTO "candidate" VALUES(17352,260,1562,NULL,6,7,'retrieved',NULL,4,3,5,1.77628087997436523437e+00);
INSERT INTO "candidate" VALUES(17353,260,1563,NULL,7,8,'retrieved',NULL,3,6,7,3.07952404022216796875e-01);
INSERT INTO "candidate" VALUES(17354,260,1564,NULL,8,9,'retrieved',NULL,2,10,10,1.41956806182861328125e-01);
INSERT INTO "candidate" VALUES(17355,260,1565,NULL,9,10,'retrieved',NULL,2,11,10,1.41956806182861328125e-01);
INSERT INTO "candidate" VALUES(17356,260,1566,NULL,10,11,'retrieved',NULL,3,9,7,3.36346149444580078125e-01);
INSERT INTO "candidate" VALUES(17357,260,1567,NULL,11,12,'retrieved',NULL,3,5,7,4.15848255157470703125e-01);
INSERT INTO "candidate" VALUES(17358,260,1568,NULL,12,13,'retrieved',NULL,3,8,7,5.7390689849853515625e-02);
INSERT INTO "candidate" VALUES(17359,261,1558,NULL,0,8,'retrieved',NULL,2,9,12,2.97901630401611328125e-01);
INSERT INTO "candidate" VALUES(17360,261,1559,NULL,1,9,'retrieved',NULL,2,13,12,0.0806279182434082);
INSERT INTO "candidate" VALUES(17361,261,1560,NULL,2,10,'retrieved',NULL,2,14,12,5.98034381866455078125e-01);
INSERT INTO "candidate" VALUES(17362,261,1561,NULL,3,11,'retrieved',NULL,2,8,12,3.21136951446533203125e-01);
INSERT INTO "candidate" VALUES(17363,261,1562,NULL,4,4,'retrieved',NULL,5,4,5,1.8109893798828125e-01);
INSERT INTO "candidate" VALUES(17364,261,1563,NULL,5,5,'retrieved',NULL,2,12,12,0.0806279182434082);
INSERT INTO "candidate" VALUES(17365,261,1564,NULL,6,6,'retrieved',NULL,2,15,12,8.85868549346923828125e-01);
INSERT INTO "candidate" VALUES(17366,261,1565,NULL,7,7,'retrieved',NULL,5,7,5,9.384632110595703125e-02);
INSERT INTO "candidate" VALUES(17367,261,1566,NULL,8,1,'retrieved',NULL,5,2,5,5.9811115264892578125e-01);
INSERT INTO "candidate" VALUES(17368,261,1567,NULL,9,2,'retrieved',NULL,2,1,12,2.05502557754516601562e+00);
INSERT INTO "candidate" VALUES(17369,261,1568,NULL,10,3,'retrieved',NULL,3,9,9,1.03461742401123046875e-01);
INSERT INTO "candidate" VALUES(17370,261,1552,NULL,11,12,'retrieved',NULL,2,17,12,1.85960817337036132812e+00);
INSERT INTO "candidate" VALUES(17371,261,1553,NULL,12,13,'retrieved',NULL,2,11,12,0.266268253326416);
INSERT INTO "candidate" VALUES(17372,261,1554,NULL,13,14,'retrieved',NULL,4,8,7,1.0282039642333984375e-01);
INSERT INTO "candidate" VALUES(17373,261,1555,NULL,14,15,'retrieved',NULL,5,6,5,8.2660675048828125e-02);
INSERT INTO "candidate" VALUES(17374,261,1556,NULL,15,16,'retrieved',NULL,2,16,12,1.32313013076782226562e+00);
INSERT INTO "candidate" VALUES(17375,261,1557,NULL,16,17,'retrieved',NULL,3,10,9,1.03461742401123046875e-01);
INSERT INTO "candidate" VALUES(17376,262,1544,NULL,0,1,'retrieved',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "candidate" VALUES(17377,262,1545,NULL,1,2,'retrieved',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "candidate" VALUES(17378,263,1546,NULL,0,1,'retrieved',NULL,2,4,5,4.35324430465698242187e-01);
INSERT INTO "candidate" VALUES(17379,263,1547,NULL,1,2,'retrieved',NULL,2,6,5,1.94108486175537109375e-02);
INSERT INTO "candidate" VALUES(17380,263,1548,NULL,2,3,'retrieved',NULL,2,3,5,9.62909936904907226562e-01);
INSERT INTO "candidate" VALUES(17381,263,1549,NULL,3,4,'retrieved',NULL,2,1,5,2.88752317428588867187e+00);
INSERT INTO "candidate" VALUES(17382,263,1550,NULL,4,5,'retrieved',NULL,2,2,5,1.67157459259033203125e+00);
INSERT INTO "candidate" VALUES(17383,263,1551,NULL,5,6,'retrieved',NULL,2,5,5,1.94108486175537109375e-02);
INSERT INTO "candidate" VALUES(17584,266,1558,NULL,0,NULL,'labelled',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "candidate" VALUES(17585,257,1552,NULL,13,14,'retrieved',NULL,3,18,14,5.62130451202392578125e-01);
INSERT INTO "candidate" VALUES(17586,257,1553,NULL,14,15,'retrieved',NULL,2,22,19,2.02320098876953125e-01);
INSERT INTO "candidate" VALUES(17587,257,1554,NULL,15,16,'retrieved',NULL,2,27,19,9.1654205322265625e-01);
INSERT INTO "candidate" VALUES(17588,257,1555,NULL,16,17,'retrieved',NULL,5,6,7,5.39993762969970703125e-01);
INSERT INTO "candidate" VALUES(17589,257,1556,NULL,17,18,'retrieved',NULL,2,24,19,4.2751407623291015625e-01);
INSERT INTO "candidate" VALUES(17590,257,1557,NULL,18,19,'retrieved',NULL,2,20,19,5.054950714111328125e-02);
INSERT INTO "candidate" VALUES(17591,257,1546,NULL,19,20,'retrieved',NULL,4,10,10,1.5364837646484375e-01);
INSERT INTO "candidate" VALUES(17592,257,1547,NULL,20,21,'retrieved',NULL,2,17,19,1.883754730224609375e-01);
INSERT INTO "candidate" VALUES(17593,257,1548,NULL,21,22,'retrieved',NULL,3,16,14,3.65359783172607421875e-01);
INSERT INTO "candidate" VALUES(17594,257,1549,NULL,22,23,'retrieved',NULL,2,25,19,4.6637439727783203125e-01);
INSERT INTO "candidate" VALUES(17595,257,1550,NULL,23,24,'retrieved',NULL,2,26,19,7.359409332275390625e-01);
INSERT INTO "candidate" VALUES(17596,257,1551,NULL,24,25,'retrieved',NULL,3,12,14,2.53304958343505859375e-01);
INSERT INTO "candidate" VALUES(17597,257,1542,NULL,25,26,'retrieved',NULL,3,13,14,2.08442211151123046875e-01);
INSERT INTO "candidate" VALUES(17598,257,1543,NULL,26,27,'retrieved',NULL,2,23,19,3.1352901458740234375e-01);
INSERT INTO "candidate" VALUES(17599,258,1558,NULL,6,14,'retrieved',NULL,3,13,14,0.0945596694946289);
INSERT INTO "candidate" VALUES(17600,258,1559,NULL,7,15,'retrieved',NULL,3,17,14,1.5999603271484375e-01);
INSERT INTO "candidate" VALUES(17601,258,1560,NULL,8,16,'retrieved',NULL,2,20,19,1.7142963409423828125e-01);
INSERT INTO "candidate" VALUES(17602,258,1561,NULL,9,17,'retrieved',NULL,2,26,19,9.606914520263671875e-01);
INSERT INTO "candidate" VALUES(17603,258,1562,NULL,10,10,'retrieved',NULL,4,5,10,6.75874233245849609375e-01);
INSERT INTO "candidate" VALUES(17604,258,1563,NULL,11,11,'retrieved',NULL,3,14,14,2.350711822509765625e-02);
INSERT INTO "candidate" VALUES(17605,258,1564,NULL,12,12,'retrieved',NULL,2,22,19,2.77538299560546875e-01);
INSERT INTO "candidate" VALUES(17606,258,1565,NULL,13,13,'retrieved',NULL,2,25,19,6.1780071258544921875e-01);
INSERT INTO "candidate" VALUES(17607,258,1566,NULL,14,7,'retrieved',NULL,3,18,14,2.2309780120849609375e-01);
INSERT INTO "candidate" VALUES(17608,258,1567,NULL,15,8,'retrieved',NULL,5,8,7,9.187602996826171875e-02);
INSERT INTO "candidate" VALUES(17609,258,1568,NULL,16,9,'retrieved',NULL,5,6,7,4.0166187286376953125e-01);
INSERT INTO "candidate" VALUES(17610,258,1552,NULL,17,20,'retrieved',NULL,2,23,19,4.0746021270751953125e-01);
INSERT INTO "candidate" VALUES(17611,258,1553,NULL,18,21,'retrieved',NULL,3,15,14,2.350711822509765625e-02);
INSERT INTO "candidate" VALUES(17612,258,1554,NULL,19,22,'retrieved',NULL,2,24,19,5.0767993927001953125e-01);
INSERT INTO "candidate" VALUES(17613,258,1555,NULL,20,23,'retrieved',NULL,5,5,7,5.35549163818359375e-01);
INSERT INTO "candidate" VALUES(17614,258,1556,NULL,21,18,'retrieved',NULL,2,21,19,2.506809234619140625e-01);
INSERT INTO "candidate" VALUES(17615,258,1557,NULL,22,19,'retrieved',NULL,3,16,14,1.47609710693359375e-01);
INSERT INTO "candidate" VALUES(17616,258,1542,NULL,23,24,'retrieved',NULL,4,9,10,3.52494716644287109375e-01);
INSERT INTO "candidate" VALUES(17617,258,1543,NULL,24,25,'retrieved',NULL,5,2,7,1.47405719757080078125e+00);
INSERT INTO "candidate" VALUES(17618,258,1544,NULL,25,26,'retrieved',NULL,2,19,19,1.7142963409423828125e-01);
INSERT INTO "candidate" VALUES(17619,258,1545,NULL,26,27,'retrieved',NULL,2,27,19,1.2907085418701171875e+00);
INSERT INTO "candidate" VALUES(17620,259,1546,NULL,17,18,'retrieved',NULL,2,22,19,2.48220920562744140625e-01);
INSERT INTO "candidate" VALUES(17621,259,1547,NULL,18,19,'retrieved',NULL,2,19,19,4.496097564697265625e-03);
INSERT INTO "candidate" VALUES(17622,259,1548,NULL,19,20,'retrieved',NULL,2,21,19,2.36911296844482421875e-01);
INSERT INTO "candidate" VALUES(17623,259,1549,NULL,20,21,'retrieved',NULL,2,25,19,4.87255573272705078125e-01);
INSERT INTO "candidate" VALUES(17624,259,1550,NULL,21,22,'retrieved',NULL,2,18,19,1.39558315277099609375e-01);
INSERT INTO "candidate" VALUES(17625,259,1551,NULL,22,23,'retrieved',NULL,2,27,19,7.5448513031005859375e-01);
INSERT INTO "candidate" VALUES(17626,259,1544,NULL,23,24,'retrieved',NULL,3,15,14,1.5358448028564453125e-02);
INSERT INTO "candidate" VALUES(17627,259,1545,NULL,24,25,'retrieved',NULL,2,24,19,4.31809902191162109375e-01);
INSERT INTO "candidate" VALUES(17628,259,1542,NULL,25,26,'retrieved',NULL,2,26,19,0.628359317779541);
INSERT INTO "candidate" VALUES(17629,259,1543,NULL,26,27,'retrieved',NULL,4,8,10,1.9182109832763671875e-01);
CREATE TABLE corpus (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	created DATETIME NOT NULL, rules JSON, automatic JSON, 
	CONSTRAINT uq_corpus_name UNIQUE (name)
);
INSERT INTO "corpus" VALUES(2,'own','','2026-11-30 01:51:39.171005','{"overlap": 2, "control": 0.1, "blind": 0.5, "target": null}',NULL);
INSERT INTO "corpus" VALUES(4,'forty','','2026-11-30 02:13:14.271406',NULL,NULL);
CREATE TABLE document (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	external_id TEXT NOT NULL, 
	title TEXT NOT NULL, 
	source TEXT NOT NULL, 
	text TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	sentences INTEGER NOT NULL, 
	"indexed" BOOLEAN NOT NULL, 
	updated DATETIME NOT NULL, 
	CONSTRAINT fk_document_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_document_corpus_id_external_id UNIQUE (corpus_id, external_id)
);
INSERT INTO "document" VALUES(69,2,'f1','Opening hours','faq.csv','The mill is open from ten to five on Sundays. It is closed in January.','ec42c6806361f66d5fc82f65f6b9a1d64a51668ca03520db0df8d468c6e21b79',2,1,'2026-11-30 01:51:44.287251');
INSERT INTO "document" VALUES(70,2,'f2','Tickets','faq.csv','A ticket costs six euros. Groups of ten or more pay four euros each.','00c6ccb68431f2a05c74b87b034c5061fa82234908288304dd7561e1e26880db',2,1,'2026-11-30 01:51:44.287251');
INSERT INTO "document" VALUES(71,2,'manual','manual','manual.txt','The coffee machine holds 1.8 litres of water. Press the left button for one cup. The filter is changed every three months.
Descale the machine when the red lamp blinks twice. Never put the tank into a dishwasher. The warranty lasts for two years.','d549cf8e128ced220ae66e37722d68f53fe8f4557d3228f34addb6f672e6facc',6,1,'2026-11-30 01:51:44.287251');
INSERT INTO "document" VALUES(72,2,'minutes','Minutes of May','minutes.html','Minutes of May

The meeting began at seven. Anna Berg was elected chair. The roof will be repaired in autumn for 12,000 euros.

Next meeting

The next meeting is on 3 June in the library.','49100141e0723731168c05467d5a6d6148461c0fa203c9fcf9a2fc6dda3dfd22',6,1,'2026-11-30 01:51:44.287251');
INSERT INTO "document" VALUES(73,2,'rules','Association rules','rules.md','The association is called Friends of the Mill. It was founded in 1974 by nine neighbours.

Membership

Members pay a fee of forty euros a year. The fee is due on the first of March. A member may leave at the end of a year. Children under twelve pay nothing.

Board

The board has five members. It is elected for two years. The treasurer keeps the accounts and reports in April.','62f250b5077f10df9abba4e059c69959adf3afd84f7a540e067249b4ea95bcb6',11,1,'2026-11-30 01:51:44.287251');
CREATE TABLE evaluation (
	id INTEGER NOT NULL, 
	ranker_key TEXT NOT NULL, 
	ranker TEXT NOT NULL, 
	data TEXT NOT NULL, 
	data_hash TEXT NOT NULL, 
	setting TEXT NOT NULL, 
	result JSON NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_evaluation PRIMARY KEY (id), 
	CONSTRAINT uq_evaluation_ranker_key_data_hash_setting UNIQUE (ranker_key, data_hash, setting)
);
INSERT INTO "evaluation" VALUES(6,'forty-9@e25f9126af457b09','forty-9','held-out','58208935090e56323bef57909609174d8de7f611adaafff10d675468850a404a','clean','{"questions": 11, "metrics": {"AP": 0.856060606060606, "RR": 0.856060606060606, "P@1": 0.8181818181818182, "nDCG@10": 0.8636363636363636}, "per_question": {"AP": {"words-of-the-house-q3": 1.0, "words-of-the-house-q4": 1.0, "forms-states-and-short-codes-q1": 1.0, "forms-states-and-short-codes-q2": 1.0, "forms-states-and-short-codes-q3": 1.0, "forms-states-and-short-codes-q7": 0.3333333333333333, "vx-60-part-page-q1": 1.0, "vx-60-part-page-q3": 1.0, "sb-5-boiler-care-q2": 1.0, "sb-5-boiler-care-q3": 1.0, "repair-orders-q1": 0.08333333333333333}, "RR": {"words-of-the-house-q3": 1.0, "words-of-the-house-q4": 1.0, "forms-states-and-short-codes-q1": 1.0, "forms-states-and-short-codes-q2": 1.0, "forms-states-and-short-codes-q3": 1.0, "forms-states-and-short-codes-q7": 0.3333333333333333, "vx-60-part-page-q1": 1.0, "vx-60-part-page-q3": 1.0, "sb-5-boiler-care-q2": 1.0, "sb-5-boiler-care-q3": 1.0, "repair-orders-q1": 0.08333333333333333}, "P@1": {"words-of-the-house-q3": 1.0, "words-of-the-house-q4": 1.0, "forms-states-and-short-codes-q1": 1.0, "forms-states-and-short-codes-q2": 1.0, "forms-states-and-short-codes-q3": 1.0, "forms-states-and-short-codes-q7": 0.0, "vx-60-part-page-q1": 1.0, "vx-60-part-page-q3": 1.0, "sb-5-boiler-care-q2": 1.0, "sb-5-boiler-care-q3": 1.0, "repair-orders-q1": 0.0}, "nDCG@10": {"words-of-the-house-q3": 1.0, "words-of-the-house-q4": 1.0, "forms-states-and-short-codes-q1": 1.0, "forms-states-and-short-codes-q2": 1.0, "forms-states-and-short-codes-q3": 1.0, "forms-states-and-short-codes-q7": 0.5, "vx-60-part-page-q1": 1.0, "vx-60-part-page-q3": 1.0, "sb-5-boiler-care-q2": 1.0, "sb-5-boiler-care-q3": 1.0, "repair-orders-q1": 0.0}}, "scores": {"words-of-the-house-q3": [1.5905399322509766, -3.86169695854187, -1.0313386917114258, -5.112886428833008, -6.073050498962402, -0.7613859176635742, -0.23291587829589844, -0.5939006805419922, -2.031338691711426, -2.540714979171753, -4.861697196960449, -3.660463571548462, -3.540714979171753], "words-of-the-house-q4": [0.7773447036743164, -2.5603065490722656, -5.610260009765625, -0.9355850219726562, -3.5603065490722656, -3.8306007385253906, -0.8176441192626953, -4.830600738525391, -2.4890336990356445, -3.6437413692474365, 0.02280712127685547, -1.4890336990356445, -4.844879150390625], "forms-states-and-short-codes-q1": [2.447707176208496, -2.947155475616455, -4.8255720138549805, -1.874159336090088, -4.198880195617676, -3.0451247692108154, -2.874159336090088, -1.8052210807800293, -4.0451250076293945, 1.321706771850586, 1.3634443283081055, 0.8864145278930664, 1.1138477325439453], "forms-states-and-short-codes-q2": [2.023360252380371, -5.043787956237793, -3.9473841190338135, -5.094372272491455, -3.7314341068267822, -3.5003976821899414, -1.9606847763061523, -2.5003976821899414, 0.1890106201171875, -0.7871236801147461, -4.947383880615234, -0.9606847763061523, -0.3361043930053711], "forms-states-and-short-codes-q3": [1.7124013900756836, -2.663065195083618, -5.410144805908203, -5.265561103820801, 1.309199333190918, 1.2010478973388672, -4.817151069641113, -3.8171510696411133, -3.663065195083618, -3.704676628112793, 0.26895618438720703, -2.1586480140686035, -0.21782684326171875], "forms-states-and-short-codes-q7": [2.112839698791504, 1.401036262512207, -4.623016357421875, -4.176011085510254, 2.395101547241211, 2.3694210052490234, -0.7330527305603027, 1.190180778503418, -2.266663074493408, -2.7281863689422607, -0.689551591873169, -3.7281863689422607, -2.2225353717803955], "vx-60-part-page-q1": [1.4044857025146484, -1.4200868606567383, -2.6252565383911133, -1.6252565383911133, -4.5438337326049805, -5.5438337326049805, -1.2266817092895508, -5.644516468048096, -4.15987491607666, -5.862711429595947, -1.2697744369506836, -3.159874677658081, -4.243232250213623], "vx-60-part-page-q3": [1.5411567687988281, 0.25633811950683594, -4.694634437561035, -3.6387405395507812, -1.9453191757202148, 1.5372371673583984, -2.082383632659912, -4.868921279907227, -4.638740539550781, 1.2000646591186523, 0.7849626541137695, -3.082383632659912, -3.612985372543335], "sb-5-boiler-care-q2": [0.6064653396606445, -2.933948040008545, -2.7953481674194336, -4.67319393157959, -0.44011402130126953, -0.3440999984741211, 0.27443504333496094, -1.6932249069213867, -0.6932249069213867, -3.933948040008545, -1.7953481674194336, -3.9962656497955322, -2.8507442474365234], "sb-5-boiler-care-q3": [1.1558151245117188, -0.08759403228759766, -3.842033624649048, -6.592095851898193, -3.167449474334717, -3.346061944961548, -0.28410816192626953, -5.224732875823975, -2.0324392318725586, -4.842033386230469, -1.0231647491455078, -2.167449474334717, -1.0324392318725586], "repair-orders-q1": [-4.484261512756348, -1.75673508644104, -4.535495758056641, -4.327057838439941, 1.3297967910766602, 1.6523609161376953, 1.3085784912109375, -3.3270580768585205, -0.6985387802124023, -3.171537399291992, -1.6985387802124023, 0.6004781723022461, -2.75673508644104]}, "seconds": 4.9254492866665895, "relative_cost": 0.6865011103502783, "per_exit": {"2": 0.6893939393939393, "3": 0.75, "4": 0.8106060606060606, "5": 0.8106060606060606, "6": 0.856060606060606}, "reliability": [{"confidence": 0.032852, "frequency": 0.009804, "candidates": 102}, {"confidence": 0.132586, "frequency": 0.117647, "candidates": 17}, {"confidence": 0.258208, "frequency": 0.142857, "candidates": 14}, {"confidence": 0.336319, "frequency": 0.6, "candidates": 5}, {"confidence": 0.453131, "frequency": 1.0, "candidates": 2}, {"confidence": 0.542504, "frequency": 0.333333, "candidates": 3}]}','2026-11-30 02:35:52.755869');
INSERT INTO "evaluation" VALUES(10,'bm25@e3b0c44298fc1c14','bm25','labels:forty','24e301f31f973e78306d503c21615578a314a2862e3beff172928e70ad6e13b0','clean','{"questions": 20, "metrics": {"AP": 0.5840277777777778, "RR": 0.5840277777777778, "P@1": 0.4, "nDCG@10": 0.6817472038378976}, "per_question": {"AP": {"words-of-the-house-q3": 1.0, "forms-states-and-short-codes-q2": 1.0, "forms-states-and-short-codes-q4": 1.0, "vx-60-part-page-q2": 1.0, "vx-60-part-page-q5": 1.0, "vx-60-part-page-q7": 0.5, "vx-30-part-page-q1": 1.0, "vx-30-part-page-q4": 0.5, "vx-30-part-page-q6": 0.2, "vx-30-part-page-q7": 0.5, "dr-12-part-page-q1": 0.3333333333333333, "dr-12-part-page-q5": 1.0, "dr-12-part-page-q6": 0.5, "dr-12-part-page-q7": 1.0, "sb-5-boiler-care-q2": 0.125, "sb-5-boiler-care-q3": 0.2, "sb-5-boiler-care-q5": 0.1, "repair-orders-q1": 0.1111111111111111, "repair-orders-q2": 0.1111111111111111, "repair-orders-q4": 0.5}, "RR": {"words-of-the-house-q3": 1.0, "forms-states-and-short-codes-q2": 1.0, "forms-states-and-short-codes-q4": 1.0, "vx-60-part-page-q2": 1.0, "vx-60-part-page-q5": 1.0, "vx-60-part-page-q7": 0.5, "vx-30-part-page-q1": 1.0, "vx-30-part-page-q4": 0.5, "vx-30-part-page-q6": 0.2, "vx-30-part-page-q7": 0.5, "dr-12-part-page-q1": 0.3333333333333333, "dr-12-part-page-q5": 1.0, "dr-12-part-page-q6": 0.5, "dr-12-part-page-q7": 1.0, "sb-5-boiler-care-q2": 0.125, "sb-5-boiler-care-q3": 0.2, "sb-5-boiler-care-q5": 0.1, "repair-orders-q1": 0.1111111111111111, "repair-orders-q2": 0.1111111111111111, "repair-orders-q4": 0.5}, "P@1": {"words-of-the-house-q3": 1.0, "forms-states-and-short-codes-q2": 1.0, "forms-states-and-short-codes-q4": 1.0, "vx-60-part-page-q2": 1.0, "vx-60-part-page-q5": 1.0, "vx-60-part-page-q7": 0.0, "vx-30-part-page-q1": 1.0, "vx-30-part-page-q4": 0.0, "vx-30-part-page-q6": 0.0, "vx-30-part-page-q7": 0.0, "dr-12-part-page-q1": 0.0, "dr-12-part-page-q5": 1.0, "dr-12-part-page-q6": 0.0, "dr-12-part-page-q7": 1.0, "sb-5-boiler-care-q2": 0.0, "sb-5-boiler-care-q3": 0.0, "sb-5-boiler-care-q5": 0.0, "repair-orders-q1": 0.0, "repair-orders-q2": 0.0, "repair-orders-q4": 0.0}, "nDCG@10": {"words-of-the-house-q3": 1.0, "forms-states-and-short-codes-q2": 1.0, "forms-states-and-short-codes-q4": 1.0, "vx-60-part-page-q2": 1.0, "vx-60-part-page-q5": 1.0, "vx-60-part-page-q7": 0.6309297535714575, "vx-30-part-page-q1": 1.0, "vx-30-part-page-q4": 0.6309297535714575, "vx-30-part-page-q6": 0.38685280723454163, "vx-30-part-page-q7": 0.6309297535714575, "dr-12-part-page-q1": 0.5, "dr-12-part-page-q5": 1.0, "dr-12-part-page-q6": 0.6309297535714575, "dr-12-part-page-q7": 1.0, "sb-5-boiler-care-q2": 0.31546487678572877, "sb-5-boiler-care-q3": 0.38685280723454163, "sb-5-boiler-care-q5": 0.2890648263178879, "repair-orders-q1": 0.3010299956639812, "repair-orders-q2": 0.3010299956639812, "repair-orders-q4": 0.6309297535714575}}, "scores": {"words-of-the-house-q3": [6.009432792663574, 1.9459021091461182, 2.0690298080444336, 0.0, 0.0, 1.4144326448440552, 3.6713900566101074, 1.3631024360656738, 2.7010233402252197, 0.0, 0.8233148455619812, 1.4144326448440552, 1.2099148035049438], "forms-states-and-short-codes-q2": [7.391711235046387, 2.45803165435791, 1.4726459980010986, 0.0, 0.3225358724594116, 0.0, 0.2716091573238373, 1.7458466291427612, 0.4169512689113617, 0.3976731300354004, 0.0, 0.3225358724594116, 0.3225358724594116], "forms-states-and-short-codes-q4": [7.868415832519531, 0.7710444927215576, 0.0, 1.1142079830169678, 1.1437886953353882, 2.7486515045166016, 1.0097509622573853, 0.6588621139526367, 0.6529614329338074, 0.5887356996536255, 0.5859425067901611, 1.2695610523223877, 0.6044459939002991], "vx-60-part-page-q2": [2.8085081577301025, 0.43091100454330444, 0.0, 0.3955628573894501, 0.0, 0.3955628573894501, 0.2457866221666336, 0.37785106897354126, 0.0, 0.45207181572914124, 0.43648314476013184, 1.7306698560714722, 2.0814056396484375], "vx-60-part-page-q5": [3.250892162322998, 0.0, 1.9113188982009888, 0.18419648706912994, 0.16263359785079956, 1.8741482496261597, 0.12488456070423126, 0.15225838124752045, 0.1167399138212204, 0.1167399138212204, 2.0648467540740967, 0.18626059591770172, 0.12939846515655518], "vx-60-part-page-q7": [2.2324392795562744, 0.7493831515312195, 0.0, 0.7034681439399719, 1.9101232290267944, 0.0, 0.0, 2.745720863342285, 0.517564058303833, 0.6098780632019043, 0.4456801414489746, 0.0, 0.7357259392738342], "vx-30-part-page-q1": [2.1654486656188965, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "vx-30-part-page-q4": [1.314391851425171, 0.0, 0.0, 0.0, 0.0, 1.6537635326385498, 1.090590000152588, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "vx-30-part-page-q6": [1.6414586305618286, 2.3540971279144287, 1.3113329410552979, 0.0, 0.0, 0.6573932766914368, 0.9840653538703918, 1.3451495170593262, 2.9075253009796143, 4.767107963562012, 0.6787526607513428, 0.7015465497970581, 1.7070733308792114], "vx-30-part-page-q7": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.839298725128174, 0.0, 0.0, 0.0, 0.0], "dr-12-part-page-q1": [4.029078483581543, 5.323949813842773, 0.260905385017395, 0.2862563133239746, 4.206511497497559, 1.7668365240097046, 0.21352984011173248, 1.7907909154891968, 3.728048324584961, 0.23926781117916107, 1.7183581590652466, 0.19924159348011017, 0.19279132783412933], "dr-12-part-page-q5": [2.1177432537078857, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "dr-12-part-page-q6": [2.9671669006347656, 3.18391489982605, 0.3203567564487457, 1.6419254541397095, 0.2713693082332611, 1.6509146690368652, 1.3573681116104126, 0.0, 0.28353413939476013, 0.21810318529605865, 0.21810318529605865, 0.16217929124832153, 0.21810318529605865], "dr-12-part-page-q7": [7.632272243499756, 3.9452970027923584, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.7813358306884766, 0.0, 0.0, 0.0, 0.0], "sb-5-boiler-care-q2": [0.2551021873950958, 0.3091161847114563, 1.283066987991333, 0.0, 0.18584899604320526, 2.4746341705322266, 0.0, 0.31392109394073486, 0.20891989767551422, 1.5296653509140015, 1.6567710638046265, 0.22274547815322876, 0.31392109394073486], "sb-5-boiler-care-q3": [0.0, 3.947437047958374, 1.8051886558532715, 0.0, 2.1051275730133057, 0.0, 0.0, 0.0, 0.0, 0.0, 1.579930067062378, 0.0, 0.0], "sb-5-boiler-care-q5": [0.0, 3.0909225940704346, 0.6354048252105713, 0.0, 1.332288146018982, 1.050184965133667, 1.050184965133667, 1.2472856044769287, 1.2194684743881226, 0.0, 0.45869460701942444, 0.0, 0.4729299545288086], "repair-orders-q1": [0.0, 0.7710444927215576, 0.0, 0.619187593460083, 2.04740047454834, 3.2544171810150146, 1.807470679283142, 0.0, 0.6529614329338074, 0.5887356996536255, 0.0, 0.8101820945739746, 0.0], "repair-orders-q2": [0.9035078287124634, 0.804943323135376, 0.0, 0.9624322652816772, 0.0, 1.8640793561935425, 0.0, 2.554147243499756, 2.4015321731567383, 1.029578685760498, 5.952271938323975, 3.1808671951293945, 2.5694799423217773], "repair-orders-q4": [3.6151912212371826, 0.0, 0.0, 0.9287490844726562, 3.6935946941375732, 1.2491883039474487, 2.0910933017730713, 0.8831973671913147, 0.0, 0.0, 0.0, 0.8620570302009583, 0.0]}, "seconds": 0.015672930006985553, "relative_cost": null}','2026-11-30 02:40:31.562261');
CREATE TABLE flag (
	id INTEGER NOT NULL, 
	question_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	annotator_id INTEGER NOT NULL, 
	note TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	cleared DATETIME, 
	CONSTRAINT pk_flag PRIMARY KEY (id), 
	CONSTRAINT fk_flag_question_id FOREIGN KEY(question_id) REFERENCES question (id) ON DELETE CASCADE, 
	CONSTRAINT fk_flag_sentence_id FOREIGN KEY(sentence_id) REFERENCES sentence (id) ON DELETE CASCADE, 
	CONSTRAINT fk_flag_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id) ON DELETE CASCADE
);
INSERT INTO "flag" VALUES(1,257,1561,3,'Is this meant for adults only?','2026-11-30 01:52:08.433059',NULL);
CREATE TABLE guideline (
	corpus_id INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	annotator_id INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_guideline PRIMARY KEY (corpus_id, version), 
	CONSTRAINT fk_guideline_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT fk_guideline_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id) ON DELETE CASCADE
);
INSERT INTO "guideline" VALUES(2,1,'A sentence is correct if it answers alone.
',2,'2026-11-30 01:52:08.493508');
CREATE TABLE job (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	corpus_id INTEGER, 
	state TEXT NOT NULL, 
	progress DOUBLE NOT NULL, 
	message TEXT NOT NULL, 
	settings JSON NOT NULL, 
	result JSON NOT NULL, 
	error TEXT NOT NULL, 
	log TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	attempts INTEGER NOT NULL, 
	cancelling BOOLEAN NOT NULL, 
	worker TEXT NOT NULL, 
	heartbeat DATETIME, 
	created DATETIME NOT NULL, 
	started DATETIME, 
	finished DATETIME, paused BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT fk_job_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE SET NULL
);
INSERT INTO "job" VALUES(3,'propose',2,'done',1.0,'done','{"wanted": 4, "seed": 1}','{"proposed": 4, "tried": 8}','','',1,3,0,'','2026-11-30 01:57:57.122334','2026-11-30 01:52:14.906802','2026-11-30 01:52:52.556142','2026-11-30 01:57:57.123572',0);
INSERT INTO "job" VALUES(9,'retrain',4,'done',1.0,'done','{"kind": "cascade", "base": "cascade", "choice": {"annotators": [], "kinds": ["people", "imported"], "since": "", "conflicts": "majority", "unsure_incorrect": false, "presumed": 0}, "replay": 0.0, "epochs": 1, "learning_rate": null, "seed": 0, "note": "first retrain"}','{"version": "forty-9", "base": "cascade", "kind": "cascade", "before": {"AP": 0.8112947658402203, "RR": 0.8112947658402203, "P@1": 0.7272727272727273, "nDCG@10": 0.8300845230519507}, "after": {"AP": 0.856060606060606, "RR": 0.856060606060606, "P@1": 0.8181818181818182, "nDCG@10": 0.8636363636363636}, "intervals": {"before": {"AP": [0.6156680440771349, 1.0], "RR": [0.6156680440771349, 1.0], "P@1": [0.45454545454545453, 1.0], "nDCG@10": [0.6363636363636364, 1.0]}, "after": {"AP": [0.6666666666666666, 1.0], "RR": [0.6666666666666666, 1.0], "P@1": [0.5454545454545454, 1.0], "nDCG@10": [0.6818181818181818, 1.0]}}, "paired": {"difference": 0.044765840220385676, "low": -0.03236914600550964, "high": 0.18112947658402206, "p": 1.0, "wins": 1, "losses": 2, "ties": 8}, "per_question": [{"qid": "words-of-the-house-q3", "question": "released value vs drawing value, which one do I set, I wonder?", "before": 1.0, "after": 1.0, "top_before": {"text": "A released value is the one a technician works to, whereas a drawing value belongs to the design office and is never set on site.", "correct": true}, "top_after": {"text": "A released value is the one a technician works to, whereas a drawing value belongs to the design office and is never set on site.", "correct": true}}, {"qid": "words-of-the-house-q4", "question": "which machine do people mean by whale, I wonder?", "before": 1.0, "after": 1.0, "top_before": {"text": "The VX-60 is called the clerk because it never complains, and the VX-90 goes by whale.", "correct": true}, "top_after": {"text": "The VX-60 is called the clerk because it never complains, and the VX-90 goes by whale.", "correct": true}}, {"qid": "forms-states-and-short-codes-q1", "question": "whats the status when somethings parked, I wonder?", "before": 1.0, "after": 1.0, "top_before": {"text": "Status 60 marks a suspended order, one that waits for a component, and people say that it is parked.", "correct": true}, "top_after": {"text": "Status 60 marks a suspended order, one that waits for a component, and people say that it is parked.", "correct": true}}, {"qid": "forms-states-and-short-codes-q2", "question": "how many points on the short form, I wonder?", "before": 1.0, "after": 1.0, "top_before": {"text": "The short form is the limited inspection, written LI on the sheet, and it has 6 points.", "correct": true}, "top_after": {"text": "The short form is the limited inspection, written LI on the sheet, and it has 6 points.", "correct": true}}, {"qid": "forms-states-and-short-codes-q3", "question": "blue ticket, I wonder?", "before": 1.0, "after": 1.0, "top_before": {"text": "Form 14 is the goodwill repair order, which is carried out without charge, and its everyday name is blue ticket.", "correct": true}, "top_after": {"text": "Form 14 is the goodwill repair order, which is carried out without charge, and its everyday name is blue ticket.", "correct": true}}, {"qid": "forms-states-and-short-codes-q7", "question": "form for a red ticket, I wonder?", "before": 0.5, "after": 0.3333333333333333, "top_before": {"text": "Form 9 is the chargeable repair order, known to the staff as a white ticket.", "correct": false}, "top_after": {"text": "Form 9 is the chargeable repair order, known to the staff as a white ticket.", "correct": false}}, {"qid": "vx-60-part-page-q1", "question": "torque belly bolts clerk, I wonder?", "before": 1.0, "after": 1.0, "top_before": {"text": "The released value for the tub bolts is 46 newton metres, because the longer bolts of the second series stretch a little.", "correct": true}, "top_after": {"text": "The released value for the tub bolts is 46 newton metres, because the longer bolts of the second series stretch a little.", "correct": true}}, {"qid": "vx-60-part-page-q3", "question": "circulation pump pressure on a VX-60, I wonder?", "before": 0.3333333333333333, "after": 1.0, "top_before": {"text": "For a VX-60 the released dose is 900 grams in 10 litres of water.", "correct": false}, "top_after": {"text": "Its released running pressure is 1.4 bar, measured with the machine filled to the upper mark.", "correct": true}}, {"qid": "sb-5-boiler-care-q2", "question": "how much sugar goes in the kettle, I wonder?", "before": 1.0, "after": 1.0, "top_before": {"text": "For one filling 3 litres are released, whereas the drawing gives 5 litres for the same water.", "correct": true}, "top_after": {"text": "For one filling 3 litres are released, whereas the drawing gives 5 litres for the same water.", "correct": true}}, {"qid": "sb-5-boiler-care-q3", "question": "who releases an SB-5 before firing, I wonder?", "before": 1.0, "after": 1.0, "top_before": {"text": "It may be fired only after the quality officer has released it.", "correct": true}, "top_after": {"text": "It may be fired only after the quality officer has released it.", "correct": true}}, {"qid": "repair-orders-q1", "question": "who signs off a blue ticket, I wonder?", "before": 0.09090909090909091, "after": 0.08333333333333333, "top_before": {"text": "Form 14 is the goodwill repair order, which is carried out without charge, and its everyday name is blue ticket.", "correct": false}, "top_after": {"text": "Form 14 is the goodwill repair order, which is carried out without charge, and its everyday name is blue ticket.", "correct": false}}], "per_exit": {"before": {"2": 0.6976584022038567, "3": 0.7424242424242423, "4": 0.856060606060606, "5": 0.8264462809917356, "6": 0.8106060606060606}, "after": {"2": 0.6893939393939393, "3": 0.75, "4": 0.8106060606060606, "5": 0.8106060606060606, "6": 0.856060606060606}}, "reliability": {"before": [{"confidence": 0.014545, "frequency": 0.051852, "candidates": 135}, {"confidence": 0.121013, "frequency": 0.0, "candidates": 2}, {"confidence": 0.25656, "frequency": 1.0, "candidates": 2}, {"confidence": 0.343787, "frequency": 0.5, "candidates": 4}], "after": [{"confidence": 0.032852, "frequency": 0.009804, "candidates": 102}, {"confidence": 0.132586, "frequency": 0.117647, "candidates": 17}, {"confidence": 0.258208, "frequency": 0.142857, "candidates": 14}, {"confidence": 0.336319, "frequency": 0.6, "candidates": 5}, {"confidence": 0.453131, "frequency": 1.0, "candidates": 2}, {"confidence": 0.542504, "frequency": 0.333333, "candidates": 3}]}, "frozen": {"before": {"AP": 0.628628463970368, "RR": 0.6320787969772035, "P@1": 0.4936708860759494, "nDCG@10": 0.6712063102686303}, "after": {"AP": 0.610677792199429, "RR": 0.6137050073577448, "P@1": 0.46835443037974683, "nDCG@10": 0.6674628576596385}}, "labels": {"questions": 25, "correct": 25, "incorrect": 300, "dev_questions": 12, "held_out_questions": 11, "replayed_questions": 0}, "choice": {"annotators": [], "kinds": ["people", "imported"], "since": "", "conflicts": "majority", "unsure_incorrect": false, "presumed": 0}, "replay": 0.0, "weights": null, "settings": {"epochs": 1, "learning_rate": 6e-05, "schedule": "triangular", "warmup": 0.1, "weight_decay": 0.01, "batch_questions": 8, "max_tokens": null, "positives": 2, "negatives": 4, "negatives_from": [], "noise": 0.0, "loss": null, "margin": 3.0, "distill": 0.0, "temperature": 0.05, "exit_draw": "all", "early_bias": 1.0, "stop_gradient": false, "frozen_layers": 0, "freeze_embeddings": true, "evals_per_epoch": 1, "patience": 3, "bf16": true, "seed": 0}, "snapshot": "c16e8f4b2b202bf566ada490a3bfad695ccdb7bf71e5be6954c723e1e3de2347", "seconds": 1252.3, "training_seconds": 475.3}','','',1,3,0,'','2026-11-30 02:35:53.266278','2026-11-30 02:13:43.280468','2026-11-30 02:14:54.663638','2026-11-30 02:35:53.267654',0);
CREATE TABLE job_event (
	id INTEGER NOT NULL, 
	job_id INTEGER NOT NULL, 
	payload JSON NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_job_event PRIMARY KEY (id), 
	CONSTRAINT fk_job_event_job_id FOREIGN KEY(job_id) REFERENCES job (id) ON DELETE CASCADE
);
INSERT INTO "job_event" VALUES(6,9,'{"kind": "start", "steps": 4, "questions": 25, "dev_ap": {"2": 0.5627594627594628, "3": 0.6938492063492063, "4": 0.674404761904762, "5": 0.6785714285714285, "6": 0.7111111111111111}}','2026-11-30 02:16:18.230783');
INSERT INTO "job_event" VALUES(7,9,'{"kind": "step", "step": 1, "steps": 4, "epoch": 0.25, "loss": 0.4477013051509857, "seconds_left": 344.4}','2026-11-30 02:18:13.246101');
INSERT INTO "job_event" VALUES(8,9,'{"kind": "step", "step": 2, "steps": 4, "epoch": 0.5, "loss": 0.4663279056549072, "seconds_left": 160.2}','2026-11-30 02:18:58.818058');
INSERT INTO "job_event" VALUES(9,9,'{"kind": "step", "step": 3, "steps": 4, "epoch": 0.75, "loss": 0.36024904251098633, "seconds_left": 82.2}','2026-11-30 02:20:25.990035');
INSERT INTO "job_event" VALUES(10,9,'{"kind": "step", "step": 4, "steps": 4, "epoch": 1.0, "loss": 0.4842096269130707, "seconds_left": 0.0}','2026-11-30 02:22:14.614319');
INSERT INTO "job_event" VALUES(11,9,'{"kind": "eval", "step": 4, "steps": 4, "epoch": 1.0, "dev_ap": {"2": 0.5697039072039071, "3": 0.7619047619047619, "4": 0.7111111111111111, "5": 0.8083333333333332, "6": 0.8083333333333332}}','2026-11-30 02:23:10.791559');
INSERT INTO "job_event" VALUES(12,9,'{"kind": "end", "step": 4, "steps": 4, "best_dev_ap": 0.7446199633699634}','2026-11-30 02:23:14.890088');
CREATE TABLE label_event (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	question_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	annotator_id INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	undoes INTEGER, 
	shown_version TEXT NOT NULL, 
	shown_rank INTEGER, 
	scores_visible BOOLEAN NOT NULL, 
	queue TEXT NOT NULL, 
	created DATETIME NOT NULL, act TEXT DEFAULT '' NOT NULL, control BOOLEAN DEFAULT 0 NOT NULL, arm TEXT DEFAULT '' NOT NULL, model_says BOOLEAN, guideline INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT fk_label_event_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id) ON DELETE CASCADE, 
	CONSTRAINT fk_label_event_question_id FOREIGN KEY(question_id) REFERENCES question (id) ON DELETE CASCADE, 
	CONSTRAINT fk_label_event_sentence_id FOREIGN KEY(sentence_id) REFERENCES sentence (id) ON DELETE CASCADE, 
	CONSTRAINT fk_label_event_undoes FOREIGN KEY(undoes) REFERENCES label_event (id) ON DELETE CASCADE, 
	CONSTRAINT uq_label_event_undoes UNIQUE (undoes)
);
INSERT INTO "label_event" VALUES(17310,257,1561,2,'correct',NULL,'cascade',1,1,'ask','2026-11-30 01:52:08.044580','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17311,257,1545,2,'incorrect',NULL,'cascade',2,1,'ask','2026-11-30 01:52:08.067642','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17312,257,1564,3,'incorrect',NULL,'cascade',3,1,'ask','2026-11-30 01:52:08.087592','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17313,258,1548,2,'correct',NULL,'cascade',1,1,'ask','2026-11-30 01:52:08.101236','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17314,258,1549,2,'incorrect',NULL,'cascade',2,1,'ask','2026-11-30 01:52:08.124779','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17315,258,1551,3,'incorrect',NULL,'cascade',3,1,'ask','2026-11-30 01:52:08.137716','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17316,259,1554,2,'correct',NULL,'cascade',1,1,'ask','2026-11-30 01:52:08.164431','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17317,259,1567,2,'incorrect',NULL,'cascade',2,1,'ask','2026-11-30 01:52:08.181678','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17318,259,1565,3,'incorrect',NULL,'cascade',3,1,'ask','2026-11-30 01:52:08.207288','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17319,260,1542,2,'correct',NULL,'cascade',1,1,'ask','2026-11-30 01:52:08.226755','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17320,260,1543,2,'incorrect',NULL,'cascade',2,1,'ask','2026-11-30 01:52:08.243372','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17321,260,1562,3,'incorrect',NULL,'cascade',3,1,'ask','2026-11-30 01:52:08.260558','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17322,261,1567,2,'correct',NULL,'cascade',1,1,'ask','2026-11-30 01:52:08.279886','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17323,261,1566,2,'incorrect',NULL,'cascade',2,1,'ask','2026-11-30 01:52:08.301536','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17324,261,1565,3,'incorrect',NULL,'cascade',3,1,'ask','2026-11-30 01:52:08.324751','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17325,262,1544,2,'correct',NULL,'cascade',1,1,'ask','2026-11-30 01:52:08.332145','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17326,262,1545,2,'incorrect',NULL,'cascade',2,1,'ask','2026-11-30 01:52:08.356294','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17327,257,1561,3,'incorrect',NULL,'cascade',1,1,'ask','2026-11-30 01:52:08.376988','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17328,259,1566,2,'correct',NULL,'cascade',4,1,'ask','2026-11-30 01:52:08.389759','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17329,259,1566,2,'withdrawn',17328,'',NULL,0,'','2026-11-30 01:52:08.413087','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17330,258,1549,3,'correct',NULL,'cascade',2,1,'ask','2026-11-30 01:52:08.462153','',0,'',NULL,0);
INSERT INTO "label_event" VALUES(17331,266,1558,2,'correct',NULL,'',NULL,0,'','2026-11-30 01:58:00.819754','',0,'',NULL,0);
CREATE TABLE lease (
	question_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	annotator_id INTEGER NOT NULL, 
	holder TEXT NOT NULL, 
	queue TEXT NOT NULL, 
	token TEXT NOT NULL, 
	expires DATETIME NOT NULL, control BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_lease PRIMARY KEY (question_id, sentence_id), 
	CONSTRAINT fk_lease_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id) ON DELETE CASCADE, 
	CONSTRAINT fk_lease_question_id FOREIGN KEY(question_id) REFERENCES question (id) ON DELETE CASCADE, 
	CONSTRAINT fk_lease_sentence_id FOREIGN KEY(sentence_id) REFERENCES sentence (id) ON DELETE CASCADE
);
CREATE TABLE model_version (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	parent TEXT, 
	path TEXT NOT NULL, 
	note TEXT NOT NULL, 
	state TEXT NOT NULL, 
	metrics JSON NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_model_version PRIMARY KEY (id), 
	CONSTRAINT uq_model_version_name UNIQUE (name)
);
INSERT INTO "model_version" VALUES(1,'cascade','cascade',NULL,'/home/ann/as2/models/cascade','shipped with the program','shipped','{}','2026-11-30 01:51:26.403762');
INSERT INTO "model_version" VALUES(2,'generative','generative',NULL,'/home/ann/as2/models/generative','shipped with the program','shipped','{}','2026-11-30 01:51:26.405192');
INSERT INTO "model_version" VALUES(3,'forty-9','cascade','cascade','/home/ann/.as2/versions/forty-9','first retrain','candidate','{"AP": 0.856060606060606, "RR": 0.856060606060606, "P@1": 0.8181818181818182, "nDCG@10": 0.8636363636363636, "before AP": 0.8112947658402203, "before RR": 0.8112947658402203, "before P@1": 0.7272727272727273, "before nDCG@10": 0.8300845230519507}','2026-11-30 02:35:52.403355');
CREATE TABLE proposal (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	log_p DOUBLE NOT NULL, 
	place INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	question_id INTEGER, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_proposal_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT fk_proposal_sentence_id FOREIGN KEY(sentence_id) REFERENCES sentence (id) ON DELETE CASCADE, 
	CONSTRAINT fk_proposal_question_id FOREIGN KEY(question_id) REFERENCES question (id) ON DELETE SET NULL
);
INSERT INTO "proposal" VALUES(1,2,1558,'What is the name of the first ancient language?',-3.11123061180114746093e+00,1,'accepted',266,'2026-11-30 01:53:34.536117');
INSERT INTO "proposal" VALUES(2,2,1549,'What is the name of the name of the name in the word''s one of the original versions of the original version of the language?',-2.79312491416931152343e+00,1,'rejected',NULL,'2026-11-30 01:53:58.672641');
INSERT INTO "proposal" VALUES(3,2,1567,'How many years was the president of the state was the state?',-2.67959952354431152343e+00,1,'waiting',NULL,'2026-11-30 01:54:48.531434');
INSERT INTO "proposal" VALUES(4,2,1562,'What was the time did the first of the first of the first in the first of the 1st of the first of the first and the first in the first of?',-2.32191324234008789062e+00,1,'waiting',NULL,'2026-11-30 01:57:57.097059');
CREATE TABLE question (
	id INTEGER NOT NULL, 
	corpus_id INTEGER NOT NULL, 
	external_id TEXT NOT NULL, 
	text TEXT NOT NULL, 
	text_key BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	split TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_question PRIMARY KEY (id), 
	CONSTRAINT fk_question_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_question_corpus_id_external_id UNIQUE (corpus_id, external_id)
);
INSERT INTO "question" VALUES(257,2,'ask-6ecf874b4ed9','How much do members pay?',-231615666882216679,'','asked','','2026-11-30 01:51:57.688075');
INSERT INTO "question" VALUES(258,2,'ask-4bcf9074ec53','When is the filter changed?',-1824329752898159799,'','asked','','2026-11-30 01:51:58.112918');
INSERT INTO "question" VALUES(259,2,'ask-a0b159b73b8e','Who was elected chair?',-1939214526410251920,'','asked','','2026-11-30 01:51:59.772772');
INSERT INTO "question" VALUES(260,2,'ask-c190d0ca32b9','When is the mill open?',-35640880590202595,'','asked','','2026-11-30 01:52:00.430626');
INSERT INTO "question" VALUES(261,2,'ask-da930da6aa9f','How long is the board elected for?',-5519052247987480709,'','asked','','2026-11-30 01:52:01.086069');
INSERT INTO "question" VALUES(262,2,'ask-9640c235999c','What does a ticket cost?',-4744749008917218783,'','asked','','2026-11-30 01:52:02.290174');
INSERT INTO "question" VALUES(263,2,'ask-6ccd2a579448','When must I descale the machine?',-4527858623648224893,'','asked','','2026-11-30 01:52:02.452696');
INSERT INTO "question" VALUES(266,2,'proposed-86902d7adc6f','What is the name of the first ancient language?',478280577652026628,'','proposed','','2026-11-30 01:58:00.738517');
CREATE TABLE run (
	id INTEGER NOT NULL, 
	question_id INTEGER NOT NULL, 
	version_id INTEGER NOT NULL, 
	generative_id INTEGER, 
	last_exit INTEGER NOT NULL, 
	threshold DOUBLE NOT NULL, 
	settings JSON NOT NULL, 
	seconds JSON NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_run PRIMARY KEY (id), 
	CONSTRAINT fk_run_generative_id FOREIGN KEY(generative_id) REFERENCES model_version (id) ON DELETE SET NULL, 
	CONSTRAINT fk_run_question_id FOREIGN KEY(question_id) REFERENCES question (id) ON DELETE CASCADE, 
	CONSTRAINT fk_run_version_id FOREIGN KEY(version_id) REFERENCES model_version (id) ON DELETE CASCADE
);
INSERT INTO "run" VALUES(1,257,1,NULL,6,0.082,'{"documents": 30, "candidates": 1300, "first_keep": 100, "by": "ask"}','{"retrieve": 0.013575335000496125, "rank": 0.8741215190020739}','2026-11-30 01:51:57.689462');
CREATE TABLE score (
	candidate_id INTEGER NOT NULL, 
	version_id INTEGER NOT NULL, 
	exit INTEGER NOT NULL, 
	value DOUBLE NOT NULL, 
	probability DOUBLE, 
	rank INTEGER NOT NULL, 
	CONSTRAINT pk_score PRIMARY KEY (candidate_id, version_id, exit), 
	CONSTRAINT fk_score_candidate_id FOREIGN KEY(candidate_id) REFERENCES candidate (id) ON DELETE CASCADE, 
	CONSTRAINT fk_score_version_id FOREIGN KEY(version_id) REFERENCES model_version (id) ON DELETE CASCADE
);
CREATE TABLE sentence (
	id INTEGER NOT NULL, 
	corpus_id INTEGER NOT NULL, 
	document_id INTEGER NOT NULL, 
	external_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	paragraph INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	text_key BIGINT NOT NULL, 
	retired BOOLEAN NOT NULL, 
	CONSTRAINT pk_sentence PRIMARY KEY (id), 
	CONSTRAINT fk_sentence_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT fk_sentence_document_id FOREIGN KEY(document_id) REFERENCES document (id) ON DELETE CASCADE
);
INSERT INTO "sentence" VALUES(1542,2,69,'f1-0',0,0,0,45,'The mill is open from ten to five on Sundays.',5485496300342959453,0);
INSERT INTO "sentence" VALUES(1543,2,69,'f1-1',1,0,46,70,'It is closed in January.',-339286296313465319,0);
INSERT INTO "sentence" VALUES(1544,2,70,'f2-0',0,0,0,25,'A ticket costs six euros.',5241109632246690452,0);
INSERT INTO "sentence" VALUES(1545,2,70,'f2-1',1,0,26,68,'Groups of ten or more pay four euros each.',2480295758430900370,0);
INSERT INTO "sentence" VALUES(1546,2,71,'manual-0',0,0,0,45,'The coffee machine holds 1.8 litres of water.',-3947148154547485648,0);
INSERT INTO "sentence" VALUES(1547,2,71,'manual-1',1,0,46,80,'Press the left button for one cup.',6070472683953002198,0);
INSERT INTO "sentence" VALUES(1548,2,71,'manual-2',2,0,81,122,'The filter is changed every three months.',8717554420129810275,0);
INSERT INTO "sentence" VALUES(1549,2,71,'manual-3',3,0,123,174,'Descale the machine when the red lamp blinks twice.',6852206375749238033,0);
INSERT INTO "sentence" VALUES(1550,2,71,'manual-4',4,0,175,212,'Never put the tank into a dishwasher.',-8535213796202544020,0);
INSERT INTO "sentence" VALUES(1551,2,71,'manual-5',5,0,213,246,'The warranty lasts for two years.',-6640809811625748699,0);
INSERT INTO "sentence" VALUES(1552,2,72,'minutes-0',0,0,0,14,'Minutes of May',6110401382212668991,0);
INSERT INTO "sentence" VALUES(1553,2,72,'minutes-1',1,1,16,43,'The meeting began at seven.',-7595713688447135521,0);
INSERT INTO "sentence" VALUES(1554,2,72,'minutes-2',2,1,44,72,'Anna Berg was elected chair.',-5687591763554992249,0);
INSERT INTO "sentence" VALUES(1555,2,72,'minutes-3',3,1,73,126,'The roof will be repaired in autumn for 12,000 euros.',3516458661220770727,0);
INSERT INTO "sentence" VALUES(1556,2,72,'minutes-4',4,2,128,140,'Next meeting',-5855580593023460314,0);
INSERT INTO "sentence" VALUES(1557,2,72,'minutes-5',5,3,142,187,'The next meeting is on 3 June in the library.',-3570770952542208637,0);
INSERT INTO "sentence" VALUES(1558,2,73,'rules-0',0,0,0,46,'The association is called Friends of the Mill.',-6849809794449214298,0);
INSERT INTO "sentence" VALUES(1559,2,73,'rules-1',1,0,47,89,'It was founded in 1974 by nine neighbours.',7063736068828216692,0);
INSERT INTO "sentence" VALUES(1560,2,73,'rules-2',2,1,91,101,'Membership',5691683308914333650,0);
INSERT INTO "sentence" VALUES(1561,2,73,'rules-3',3,2,103,143,'Members pay a fee of forty euros a year.',4491898170275834348,0);
INSERT INTO "sentence" VALUES(1562,2,73,'rules-4',4,2,144,181,'The fee is due on the first of March.',-842190555182359074,0);
INSERT INTO "sentence" VALUES(1563,2,73,'rules-5',5,2,182,222,'A member may leave at the end of a year.',-4282491388273488941,0);
INSERT INTO "sentence" VALUES(1564,2,73,'rules-6',6,2,223,257,'Children under twelve pay nothing.',2159281190119114537,0);
INSERT INTO "sentence" VALUES(1565,2,73,'rules-7',7,3,259,264,'Board',-6706193652149358593,0);
INSERT INTO "sentence" VALUES(1566,2,73,'rules-8',8,4,266,293,'The board has five members.',8608184408660579076,0);
INSERT INTO "sentence" VALUES(1567,2,73,'rules-9',9,4,294,322,'It is elected for two years.',-3787839702588331720,0);
INSERT INTO "sentence" VALUES(1568,2,73,'rules-10',10,4,323,377,'The treasurer keeps the accounts and reports in April.',-400429004178362516,0);
CREATE TABLE suspicion (
	question_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	doubt DOUBLE NOT NULL, 
	created DATETIME NOT NULL, 
	looked DATETIME, 
	CONSTRAINT pk_suspicion PRIMARY KEY (question_id, sentence_id), 
	CONSTRAINT fk_suspicion_question_id FOREIGN KEY(question_id) REFERENCES question (id) ON DELETE CASCADE, 
	CONSTRAINT fk_suspicion_sentence_id FOREIGN KEY(sentence_id) REFERENCES sentence (id) ON DELETE CASCADE
);
CREATE TABLE verdict (
	id INTEGER NOT NULL, 
	question_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	annotator_id INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	note TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT pk_verdict PRIMARY KEY (id), 
	CONSTRAINT fk_verdict_question_id FOREIGN KEY(question_id) REFERENCES question (id) ON DELETE CASCADE, 
	CONSTRAINT fk_verdict_sentence_id FOREIGN KEY(sentence_id) REFERENCES sentence (id) ON DELETE CASCADE, 
	CONSTRAINT fk_verdict_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id) ON DELETE CASCADE
);
INSERT INTO "verdict" VALUES(1,258,1549,2,'incorrect','It is about the machine.','2026-11-30 01:52:08.476637');
CREATE INDEX ix_document_corpus_id_indexed ON document (corpus_id, "indexed");
CREATE INDEX ix_sentence_corpus_id_external_id ON sentence (corpus_id, external_id);
CREATE INDEX ix_sentence_corpus_id_text_key ON sentence (corpus_id, text_key);
CREATE INDEX ix_sentence_document_id_position ON sentence (document_id, position);
CREATE INDEX ix_activation_version_id ON activation (version_id);
CREATE INDEX ix_question_corpus_id_text_key ON question (corpus_id, text_key);
CREATE INDEX ix_run_generative_id ON run (generative_id);
CREATE INDEX ix_run_question_id ON run (question_id);
CREATE INDEX ix_run_version_id ON run (version_id);
CREATE INDEX ix_candidate_run_id ON candidate (run_id);
CREATE INDEX ix_candidate_sentence_id ON candidate (sentence_id);
CREATE INDEX ix_score_version_id ON score (version_id);
CREATE INDEX ix_label_event_annotator_id_id ON label_event (annotator_id, id);
CREATE INDEX ix_label_event_question_id_sentence_id_annotator_id_id ON label_event (question_id, sentence_id, annotator_id, id);
CREATE INDEX ix_label_event_sentence_id ON label_event (sentence_id);
CREATE INDEX ix_lease_annotator_id ON lease (annotator_id);
CREATE INDEX ix_lease_sentence_id ON lease (sentence_id);
CREATE INDEX ix_job_corpus_id ON job (corpus_id);
CREATE INDEX ix_job_state ON job (state);
CREATE INDEX ix_job_event_job_id_id ON job_event (job_id, id);
CREATE UNIQUE INDEX ix_annotator_subject ON annotator (subject);
CREATE INDEX ix_verdict_question_id_sentence_id_id ON verdict (question_id, sentence_id, id);
CREATE INDEX ix_verdict_sentence_id ON verdict (sentence_id);
CREATE INDEX ix_verdict_annotator_id ON verdict (annotator_id);
CREATE INDEX ix_flag_question_id_sentence_id ON flag (question_id, sentence_id);
CREATE INDEX ix_flag_sentence_id ON flag (sentence_id);
CREATE INDEX ix_flag_annotator_id ON flag (annotator_id);
CREATE INDEX ix_guideline_annotator_id ON guideline (annotator_id);
CREATE INDEX ix_suspicion_sentence_id ON suspicion (sentence_id);
CREATE INDEX ix_proposal_corpus_id_state ON proposal (corpus_id, state);
CREATE INDEX ix_proposal_sentence_id ON proposal (sentence_id);
CREATE INDEX ix_proposal_question_id ON proposal (question_id);
CREATE VIEW current_label AS
SELECT e.id, e.question_id, e.sentence_id, e.annotator_id, e.label, e.created
FROM label_event e
WHERE e.label <> 'withdrawn'
  AND e.id = (SELECT max(n.id) FROM label_event n
              WHERE n.question_id = e.question_id AND n.sentence_id = e.sentence_id AND n.annotator_id = e.annotator_id);
CREATE TRIGGER label_event_is_append_only BEFORE UPDATE ON label_event
BEGIN SELECT RAISE(ABORT, 'label events are append-only'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('corpus',4);
INSERT INTO "sqlite_sequence" VALUES('document',136);
INSERT INTO "sqlite_sequence" VALUES('job',12);
INSERT INTO "sqlite_sequence" VALUES('label_event',22817);
INSERT INTO "sqlite_sequence" VALUES('proposal',4);
COMMIT;
